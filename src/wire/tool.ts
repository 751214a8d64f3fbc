import { z } from "zod";
import type { Scope } from "./access.ts";

/** The effects of calling a tool, so that a client can decide whether to ask the user first. @see MCP, "ToolAnnotations" */
export interface ToolEffects {
  /** Changes nothing. */
  readonly readOnly: boolean;
  /** Can end, overwrite or remove something, or allow an agent to. */
  readonly destructive: boolean;
  /** Calling it twice has the same effect as calling it once. */
  readonly idempotent: boolean;
  /** Can affect things outside the gateway: files, programs, the network. */
  readonly openWorld: boolean;
}

/** A tool, shared by HTTP, the manifest, MCP, OpenAPI and the command line. */
export interface Tool<Caller, Input = unknown, Output = unknown> {
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** For an LLM deciding whether to call it. */
  readonly description: string;
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output>;
  /** The scope required to call it. */
  readonly scope: Scope;
  readonly effects: ToolEffects;
  /** Whether its output contains transcript text, which must not be treated as instructions. */
  readonly quotesTranscripts: boolean;
  /** @param signal aborted when the caller goes away or the gateway stops */
  run(input: Input, caller: Caller, signal: AbortSignal): Promise<Output>;
}

/** The Model Context Protocol's form of {@link ToolEffects}. */
export interface ToolAnnotations {
  title: string;
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

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

/** JSON Schema of an object, as LLM hosts expect it for tools. */
export type ToolSchema = z.infer<typeof toolSchemaSchema>;

/** JSON Schema of a tool's input or output, with the object itself at the top level instead of a reference to it. */
export function toolSchema(schema: z.ZodType, io: "input" | "output"): ToolSchema {
  const {
    $ref,
    $defs = {},
    ...rest
  } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      // Responses may gain fields; only requests are strict.
      if (io === "output") delete jsonSchema.additionalProperties;
    },
  });
  const { id: _id, ...whole } = { ...rest, ...atTop($ref, $defs) };
  const used = usedBy(whole, $defs);
  return toolSchemaSchema.parse({ ...whole, ...(Object.keys(used).length === 0 ? {} : { $defs: used }) });
}

type Definitions = Readonly<Record<string, object>>;

/** Resolves a reference, which may lead to another one. */
function atTop(ref: string | undefined, defs: Definitions): object {
  const { $ref, ...schema } = refSchema.parse(defs[ref?.replace("#/$defs/", "") ?? ""] ?? {});
  return $ref === undefined ? schema : { ...atTop($ref, defs), ...schema };
}

const refSchema = z.looseObject({ $ref: z.string().optional() });

/** Only the definitions in use, without `id`: it identified a schema in old dialects, and current validators reject it. */
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
