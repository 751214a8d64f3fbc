import { claudeCode } from "./claude-code/claude-code.ts";
import { codex } from "./codex/codex.ts";
import { type CustomAgent, createCustomTemplate } from "./custom/custom.ts";
import { geminiCli } from "./gemini-cli/gemini-cli.ts";
import { openCode } from "./opencode/opencode.ts";
import type { AgentTemplate } from "./template.ts";

/** The built-in agents. */
export const builtInTemplates: readonly AgentTemplate[] = [claudeCode, codex, geminiCli, openCode];

/**
 * All templates: built-in, from the config file, and `further`.
 * @throws Error if two of them share a name or alias
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
        throw new Error(
          `Agent "${template.name}" cannot use the name "${name}": "${owner}" already does. Choose another name in the config file.`,
        );
      }
      owners.set(name, template.name);
    }
  }
  return templates;
}
