import { z } from "zod";

/** What a call of a tool does, for whoever decides whether to ask a person first. @see MCP, "ToolAnnotations" */
export interface ToolEffects {
  /** It changes nothing. */
  readonly readOnly: boolean;
  /** It may end, overwrite or remove something, or let an agent do so. */
  readonly destructive: boolean;
  /** Twice is as once. */
  readonly idempotent: boolean;
  /** What it sets in motion may reach beyond this gateway: files, programs, the network. */
  readonly openWorld: boolean;
}

/** The same in the words of the Model Context Protocol. */
export interface ToolAnnotations {
  title: string;
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** @see ToolEffects */
export function toolAnnotations(tool: { readonly title: string; readonly effects: ToolEffects }): ToolAnnotations {
  const { readOnly, destructive, idempotent, openWorld } = tool.effects;
  return {
    title: tool.title,
    readOnlyHint: readOnly,
    destructiveHint: destructive,
    idempotentHint: idempotent,
    openWorldHint: openWorld,
  };
}

const toolSchemaSchema = z.looseObject({
  type: z.literal("object"),
  properties: z.record(z.string(), z.json()).optional(),
  required: z.array(z.string()).optional(),
});

/** A JSON Schema of an object, as an LLM's host takes it for a tool. */
export type ToolSchema = z.infer<typeof toolSchemaSchema>;

/** The JSON Schema of a tool's input or output, with the object itself at the top, where callers look for it, and not a reference to it. */
export function toolSchema(schema: z.ZodType, io: "input" | "output"): ToolSchema {
  const {
    $ref,
    $defs = {},
    ...rest
  } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      // Answers may gain fields; only requests are held to what is written.
      if (io === "output") delete jsonSchema.additionalProperties;
    },
  });
  const name = $ref?.replace("#/$defs/", "") ?? "";
  const { [name]: top, ...others } = $defs;
  const { id: _id, ...whole } = { ...rest, ...top };
  return toolSchemaSchema.parse({
    ...whole,
    ...(Object.keys(others).length === 0 ? {} : { $defs: withoutIds(others) }),
  });
}

/** `id` was the name of a schema in old dialects, and validators of today stumble over it. */
function withoutIds(defs: Readonly<Record<string, object>>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(defs).map(([key, schema]) => [
      key,
      Object.fromEntries(Object.entries(schema).filter(([field]) => field !== "id")),
    ]),
  );
}
