export { type VersionNotice, versionNotice } from "./agent-versions.ts";
export { type HandedPrompt, handOver, withLines } from "./attached-files.ts";
export { type AgentCommand, type AgentCommands, commandsIn } from "./command-files.ts";
export { customAgentSchema } from "./custom/custom.ts";
export {
  type HookDecision,
  hookCommand,
  type PermissionAnswer,
  parseTaken,
  parseWanted,
  toHookDecision,
} from "./hook-payload.ts";
export { createKnownAgents, installEnvironment, loginArguments } from "./known-agents.ts";
export type { RecordSetupJob } from "./ports.ts";
export { type AgentRegistry, changeAgent, createRegistry } from "./registry.ts";
export { dialogIdOf, isAbout, type ScreenDialog } from "./screen-dialog.ts";
export { type AgentSetupJobs, createAgentSetupJobs } from "./setup-jobs.ts";
export type {
  AgentTemplate,
  AttachedFile,
  Environment,
  ExternalHolder,
  HookClaim,
  HookEvent,
  LaunchPlan,
  LaunchRequest,
  ObservedActivity,
  ObservedState,
  ToolCall,
} from "./template.ts";
export { createTemplates } from "./templates.ts";
