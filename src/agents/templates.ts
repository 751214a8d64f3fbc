import { claudeCode } from "./claude-code/claude-code.ts";
import { codex } from "./codex/codex.ts";
import { type CustomAgent, createCustomTemplate } from "./custom/custom.ts";
import { geminiCli } from "./gemini-cli/gemini-cli.ts";
import { openCode } from "./opencode/opencode.ts";
import type { AgentTemplate } from "./template.ts";

/** The agents that Postern knows by itself. */
export const builtInTemplates: readonly AgentTemplate[] = [claudeCode, codex, geminiCli, openCode];

/**
 * All templates: the built-in ones, those of the config file, and `further` ones.
 * @throws Error when two of them would answer to one name; the message names both
 */
export function createTemplates(
  customAgents: readonly CustomAgent[],
  further: readonly AgentTemplate[] = [],
): readonly AgentTemplate[] {
  const templates = [...builtInTemplates, ...customAgents.map(createCustomTemplate), ...further];
  const owners = new Map<string, string>();
  for (const template of templates) {
    for (const name of [template.name, ...template.aliases]) {
      const owner = owners.get(name);
      if (owner !== undefined) {
        throw new Error(`The agent "${template.name}" cannot be called "${name}": that name belongs to "${owner}".`);
      }
      owners.set(name, template.name);
    }
  }
  return templates;
}
