export { createMcp } from "./mcp.ts";
export type { Mcp, McpDeps, McpLimits, McpRequest, McpSessions, McpTool } from "./ports.ts";
