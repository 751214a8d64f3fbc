/** Reading what a peer sent as JSON: each function returns undefined unless the field is there and of its type. */

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** Whether `value` is a JSON object (no array, no null). */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses a JSON object; undefined for anything else. */
export function parseFields(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined; // the caller answers malformed input the same way as a missing field
  }
}

/** A string field. */
export function textField(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" ? value : undefined;
}

/** A finite number field. */
export function numberField(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A field that is true or false. */
export function booleanField(fields: Fields, name: string): boolean | undefined {
  const value = fields[name];
  return typeof value === "boolean" ? value : undefined;
}

/** An object field. */
export function objectField(fields: Fields, name: string): Fields | undefined {
  const value = fields[name];
  return isFields(value) ? value : undefined;
}

/** A field that is a list of strings. */
export function textListField(fields: Fields, name: string): readonly string[] | undefined {
  const value = fields[name];
  if (!Array.isArray(value)) return undefined;
  const texts = value.filter((item: unknown) => typeof item === "string");
  return texts.length === value.length ? texts : undefined;
}

/** A field that is a list of numbers. */
export function numberListField(fields: Fields, name: string): readonly number[] | undefined {
  const value = fields[name];
  if (!Array.isArray(value)) return undefined;
  const numbers = value.filter((item: unknown) => typeof item === "number");
  return numbers.length === value.length ? numbers : undefined;
}

/** A field that is an object of strings. */
export function textMapField(fields: Fields, name: string): Readonly<Record<string, string>> | undefined {
  const value = objectField(fields, name);
  if (value === undefined) return undefined;
  const map: Record<string, string> = {};
  for (const [key, item] of Object.entries(value)) {
    if (typeof item !== "string") return undefined;
    map[key] = item;
  }
  return map;
}
