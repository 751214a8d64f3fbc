import { z } from "zod";

/** The relevant parts of a JSON Schema. */
export interface JsonSchema {
  readonly $ref?: string | undefined;
  readonly type?: string | readonly string[] | undefined;
  readonly description?: string | undefined;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  readonly format?: string | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly required?: readonly string[] | undefined;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
  readonly items?: JsonSchema | undefined;
  readonly anyOf?: readonly JsonSchema[] | undefined;
  readonly oneOf?: readonly JsonSchema[] | undefined;
  readonly allOf?: readonly JsonSchema[] | undefined;
  readonly additionalProperties?: JsonSchema | boolean | undefined;
}

/** @see JsonSchema */
export const jsonSchemaSchema: z.ZodType<JsonSchema> = z.lazy(() =>
  z.object({
    $ref: z.string().optional(),
    type: z.union([z.string(), z.array(z.string())]).optional(),
    description: z.string().optional(),
    default: z.unknown().optional(),
    const: z.unknown().optional(),
    enum: z.array(z.unknown()).optional(),
    format: z.string().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    maxItems: z.number().optional(),
    required: z.array(z.string()).optional(),
    properties: z.record(z.string(), jsonSchemaSchema).optional(),
    items: jsonSchemaSchema.optional(),
    anyOf: z.array(jsonSchemaSchema).optional(),
    oneOf: z.array(jsonSchemaSchema).optional(),
    allOf: z.array(jsonSchemaSchema).optional(),
    additionalProperties: z.union([z.boolean(), jsonSchemaSchema]).optional(),
  }),
);

const anyNumber = 2 ** 53 - 1;

/** The type in words: `text`, `number, 1 to 1000`, `one of …`, `list of …`. A schema with a name is a link to it. */
export function typeInWords(
  schema: JsonSchema,
  nameOf: (reference: string) => string = (reference) => reference,
): string {
  const again = (inner: JsonSchema): string => typeInWords(inner, nameOf);
  if (schema.$ref !== undefined) return nameOf(schema.$ref.split("/").at(-1) ?? "");
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return [...new Set(schema.enum.map((each) => `\`${String(each)}\``))].join(", ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return [...new Set(choices.map(again))].join(" or ");
  if (schema.allOf !== undefined) return schema.allOf.map(again).join(" and ");
  if (typeof schema.type === "object") return schema.type.map((type) => again({ ...schema, type })).join(" or ");
  if (schema.type === "array") return `list of ${again(schema.items ?? {})}`;
  if (schema.type === "integer" || schema.type === "number") return numberInWords(schema);
  if (schema.type === "boolean") return "true or false";
  if (schema.type === "string") return textInWords(schema);
  if (schema.type === "object")
    return typeof schema.additionalProperties === "object"
      ? `object of ${again(schema.additionalProperties)}`
      : "object";
  return schema.type === "null" ? "null" : "anything";
}

function numberInWords({ minimum, maximum }: JsonSchema): string {
  const from = minimum === undefined || minimum <= -anyNumber ? null : minimum;
  const to = maximum === undefined || maximum >= anyNumber ? null : maximum;
  if (from !== null && to !== null) return `number, ${from} to ${to}`;
  if (from !== null) return `number, at least ${from}`;
  return to === null ? "number" : `number, up to ${to}`;
}

function textInWords({ format, maxLength }: JsonSchema): string {
  const kind = format === "uri" ? "address" : format === "date-time" ? "time" : "text";
  return maxLength === undefined ? kind : `${kind}, up to ${maxLength} characters`;
}
