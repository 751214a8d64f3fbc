import type { Folder } from "../wire/access.ts";
import type { ListAgentsOutput } from "../wire/coding.ts";
import { type Tool, toolAnnotations, toolSchema } from "../wire/tool.ts";

/** Counts up when a caller that read an older manifest could misread a newer one. */
export const manifestProtocolVersion = "1";

/** What an LLM's host reads to offer Postern's tools. @see the seed, "Manifest"; its fields beyond the agents are ours */
export function createManifest(facts: {
  readonly gateway: { readonly id: string; readonly version: string };
  readonly tools: readonly Omit<Tool<never>, "run">[];
  readonly folders: readonly Folder[];
  readonly agents: ListAgentsOutput;
}): Record<string, unknown> {
  return {
    protocolVersion: manifestProtocolVersion,
    gateway: { ...facts.gateway, name: "postern", platform: process.platform },
    tools: facts.tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      inputSchema: toolSchema(tool.input, "input"),
      outputSchema: toolSchema(tool.output, "output"),
      annotations: toolAnnotations(tool),
    })),
    folders: facts.folders,
    agents: facts.agents.agents,
    availableAgents: facts.agents.availableAgents,
    default: facts.agents.default,
  };
}
