export { changeAgent } from "./change-agent.ts";
export { type CustomAgent, customAgentSchema } from "./custom.ts";
export { hookCommand } from "./hook-command.ts";
export { createKnownAgents, installEnvironment, type KnownAgents, loginArguments } from "./known-agents.ts";
export { type AgentRegistry, createRegistry, type RegistryDeps, type ResolvedAgent } from "./registry.ts";
export type {
  AgentTemplate,
  Environment,
  HookClaim,
  HookEvent,
  LaunchPlan,
  LaunchRequest,
  LoginState,
} from "./template.ts";
export { createTemplates } from "./templates.ts";
