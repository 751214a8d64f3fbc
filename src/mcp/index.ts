export { createMcp } from "./mcp.ts";
export type { Mcp, McpDeps, McpLimits, McpRequest, McpSessions } from "./ports.ts";
