import { z } from "zod";
import type { Scope } from "./access.ts";

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

/** A tool, as HTTP, manifest, MCP, OpenAPI and the command line show it. */
export interface Tool<Caller, Input = unknown, Output = unknown> {
  readonly name: string;
  /** For a person. */
  readonly title: string;
  /** For an LLM that decides whether to call it. */
  readonly description: string;
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output>;
  /** The least that a caller must hold. */
  readonly scope: Scope;
  readonly effects: ToolEffects;
  /** Whether its answers hold text of transcripts, which nobody may take for instructions. */
  readonly quotesTranscripts: boolean;
  /** @param signal aborted when the caller goes away or the gateway stops */
  run(input: Input, caller: Caller, signal: AbortSignal): Promise<Output>;
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
  const { id: _id, ...whole } = { ...rest, ...atTop($ref, $defs) };
  const used = usedBy(whole, $defs);
  return toolSchemaSchema.parse({ ...whole, ...(Object.keys(used).length === 0 ? {} : { $defs: used }) });
}

type Definitions = Readonly<Record<string, object>>;

/** What a reference leads to, which may be one itself: a schema that only has another name. */
function atTop(ref: string | undefined, defs: Definitions): object {
  const { $ref, ...schema } = refSchema.parse(defs[ref?.replace("#/$defs/", "") ?? ""] ?? {});
  return $ref === undefined ? schema : { ...atTop($ref, defs), ...schema };
}

const refSchema = z.looseObject({ $ref: z.string().optional() });

/** Only what is referred to; and without `id`, which was the name of a schema in old dialects: validators of today stumble over it. */
function usedBy(schema: object, defs: Definitions, known: ReadonlySet<string> = new Set()): Record<string, object> {
  const text = JSON.stringify(schema);
  const wanted = Object.keys(defs).filter((key) => !known.has(key) && text.includes(`"#/$defs/${key}"`));
  const all = new Set([...known, ...wanted]);
  const used = wanted.map((key): Record<string, object> => {
    const { id: _id, ...definition } = z.looseObject({}).parse(defs[key]);
    return { [key]: definition, ...usedBy(definition, defs, all) };
  });
  return Object.fromEntries(used.flatMap((some) => Object.entries(some)));
}
