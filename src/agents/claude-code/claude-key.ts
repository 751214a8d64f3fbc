import { z } from "zod";
import type { Environment } from "../template.ts";
import { type ClaudeConfig, readClaudeConfig } from "./claude-config.ts";
import { configPath } from "./claude-surroundings.ts";

const keyResponsesSchema = z.looseObject({
  approved: z.array(z.string()).default([]),
  rejected: z.array(z.string()).default([]),
});

/** Claude Code remembers a key by its last 20 characters. */
export function keyTail(env: Environment): string {
  return (env["ANTHROPIC_API_KEY"] ?? "").slice(-20);
}

/** What the person has answered to "use this API key?"; null for a key that was never asked about, and for none. */
export function keyAnswer(config: ClaudeConfig, tail: string): "approved" | "rejected" | null {
  const responses = keyResponses(config);
  return responses.rejected.includes(tail) ? "rejected" : responses.approved.includes(tail) ? "approved" : null;
}

/** The answers, with yes for this key. */
export function approved(config: ClaudeConfig, tail: string): unknown {
  const responses = keyResponses(config);
  return { ...responses, approved: [...responses.approved.filter((other) => other !== tail), tail] };
}

/** Whether the person has said no to the key that is set: Claude Code does not use it then. */
export async function isKeyRejected(env: Environment): Promise<boolean> {
  const tail = keyTail(env);
  if (tail === "") return false;
  const config = await readClaudeConfig(await configPath(env)).catch(() => ({})); // not readable: its start says so
  return keyAnswer(config, tail) === "rejected";
}

function keyResponses(config: ClaudeConfig): z.infer<typeof keyResponsesSchema> {
  return keyResponsesSchema.safeParse(config["customApiKeyResponses"]).data ?? { approved: [], rejected: [] };
}
