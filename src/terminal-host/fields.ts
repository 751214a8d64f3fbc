/** Readers of JSON fields: each returns undefined unless the field exists and has the type. */

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
    return undefined; // callers treat it like a missing field
  }
}

export function textField(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" ? value : undefined;
}

export function numberField(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function booleanField(fields: Fields, name: string): boolean | undefined {
  const value = fields[name];
  return typeof value === "boolean" ? value : undefined;
}

export function objectField(fields: Fields, name: string): Fields | undefined {
  const value = fields[name];
  return isFields(value) ? value : undefined;
}

export function textListField(fields: Fields, name: string): readonly string[] | undefined {
  return listField(fields, name, (item) => typeof item === "string");
}

export function numberListField(fields: Fields, name: string): readonly number[] | undefined {
  return listField(fields, name, (item) => typeof item === "number");
}

function listField<T>(fields: Fields, name: string, isItem: (item: unknown) => item is T): readonly T[] | undefined {
  const value = fields[name];
  return Array.isArray(value) && value.every(isItem) ? value : undefined;
}

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
