import { isAbsolute } from "node:path";
import { hasCode } from "../core/errors.ts";
import type { ConfigureAgentInput } from "../wire/changes.ts";
import { agentError } from "./errors.ts";
import type { AgentRegistry } from "./registry.ts";

/**
 * Configures an agent, or changes what is said of it and nothing else.
 * @throws PosternError `agent_unknown` | `agent_binary_missing` | `invalid_request` (the binary is no absolute path)
 */
export async function changeAgent(
  registry: AgentRegistry,
  nameOrAlias: string,
  { binary, isDefault }: ConfigureAgentInput,
): Promise<void> {
  const { name } = registry.template(nameOrAlias);
  if (typeof binary === "string" && !isAbsolute(binary)) {
    throw agentError("invalid_request", `${JSON.stringify(binary)} is no absolute path. Null is looked up on PATH.`);
  }
  if (binary !== undefined || !(await isConfigured(registry, name))) {
    await registry.configure(name, {
      ...(typeof binary === "string" ? { binary } : {}),
      isDefault: isDefault === true,
    });
  } else if (isDefault === true) {
    await registry.setDefault(name);
  }
}

async function isConfigured(registry: AgentRegistry, name: string): Promise<boolean> {
  try {
    await registry.resolve(name);
    return true;
  } catch (error) {
    if (hasCode(error, "agent_not_configured")) return false;
    if (hasCode(error, "agent_binary_missing")) return true;
    throw error;
  }
}
