import type { ListAgentsOutput } from "../wire/coding.ts";
import { table } from "./plain-text.ts";

/** The configured agents, then those that were only found. */
export function agentTable({ agents, availableAgents }: ListAgentsOutput): string {
  const rows = [
    ...agents.map((agent) => ({ agent, state: agent.isDefault ? "default" : "configured" })),
    ...availableAgents.map((agent) => ({ agent, state: "found" })),
  ];
  if (rows.length === 0) return "No agents. See `postern coding setup --help`.";
  return table(
    ["AGENT", "STATE", "LOGIN", "VERSION", "BINARY"],
    rows.map(({ agent, state }) => [agent.name, state, agent.login, agent.version ?? "-", agent.binary ?? "missing"]),
  );
}
