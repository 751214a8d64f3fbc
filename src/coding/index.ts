export type { AgentLogins } from "./agent-logins.ts";
export { type AgentRegistry, changeAgent, hookCommand } from "./agents/index.ts";
export { type Agents, type Coding, type CodingDeps, createCoding } from "./coding.ts";
export type { CodingErrorCode } from "./errors.ts";
export type { Caller, EventPublisher } from "./ports.ts";
export type { Recordings } from "./recordings.ts";
export type { Rescues } from "./rescues.ts";
export type { Viewer, ViewerLink, ViewRequest } from "./terminals/viewer.ts";
export { type CodingTool, createCodingTools } from "./tools.ts";
