import { z } from "zod";
import type { CodingTool } from "./coding/index.ts";
import type { Folder } from "./wire/access.ts";
import type { ListAgentsOutput } from "./wire/coding.ts";

/** Counts up when a caller that read an older manifest could misread a newer one. */
export const manifestProtocolVersion = "1";

/** What an LLM's host reads to offer Postern's tools. @see the seed, "Manifest"; its fields beyond the agents are ours */
export function createManifest(facts: {
  readonly gateway: { readonly id: string; readonly version: string };
  readonly tools: readonly CodingTool[];
  readonly folders: readonly Folder[];
  readonly agents: ListAgentsOutput;
}): Record<string, unknown> {
  return {
    protocolVersion: manifestProtocolVersion,
    gateway: { ...facts.gateway, name: "postern", platform: process.platform },
    tools: facts.tools.map(({ name, description, input, output }) => ({
      name,
      description,
      inputSchema: inlineSchema(input, "input"),
      outputSchema: inlineSchema(output, "output"),
    })),
    folders: facts.folders,
    agents: facts.agents.agents,
    availableAgents: facts.agents.availableAgents,
    default: facts.agents.default,
  };
}

/** With the object itself at the top, where callers of tools look for it, and not a reference to it. */
function inlineSchema(schema: z.ZodType, io: "input" | "output"): Record<string, unknown> {
  const { $ref, $defs = {}, ...rest } = z.toJSONSchema(schema, { io });
  const name = $ref?.replace("#/$defs/", "") ?? "";
  const { [name]: top, ...others } = $defs;
  return { ...rest, ...top, ...(Object.keys(others).length === 0 ? {} : { $defs: others }) };
}
