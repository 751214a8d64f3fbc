export { createLaunchdManager } from "./launchd.ts";
export type { ServiceManager, ServiceSpec, ServiceStatus } from "./service.ts";
export { keepVariables, runManager } from "./service.ts";
export { createSystemdManager } from "./systemd.ts";
