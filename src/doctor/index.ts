export { type AgentFixes, checkAgents, checkSandbox, checkSmoke, type SmokeResult } from "./check-agents.ts";
export { checkDisk, checkFolders } from "./check-folders.ts";
export { checkExposure, checkGateway, checkTerminalHost, type GatewayState } from "./check-gateway.ts";
export { checkGit, checkNode } from "./check-programs.ts";
export { checkClock, checkStore } from "./check-store.ts";
export { failure, shellWord } from "./finding.ts";
