export { keepVariables } from "./environment-file.ts";
export { createLaunchdManager } from "./launchd.ts";
export { runManager } from "./run-manager.ts";
export type { ServiceManager, ServiceSpec, ServiceStatus } from "./service.ts";
export { createSystemdManager } from "./systemd.ts";
