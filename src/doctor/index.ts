export {
  checkExposure,
  checkGateway,
  checkTerminalHost,
  type GatewayCommands,
  type GatewayState,
} from "./check-gateway.ts";
export { checkGh } from "./check-gh.ts";
export {
  type AgentFixes,
  checkAgents,
  checkGit,
  checkNode,
  checkSandbox,
  checkSmoke,
  checkVersion,
  type SmokeResult,
} from "./check-programs.ts";
export { checkClock, checkDisk, checkFolders, checkStore } from "./check-state.ts";
export { failure } from "./finding.ts";
