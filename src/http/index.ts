export { accountRoutes, auditRoutes, tokenRoutes } from "./account-routes.ts";
export { agentRoutes, agentSetupRoutes } from "./agent-routes.ts";
export { attachmentRoutes } from "./attachment-routes.ts";
export { cloneRoutes } from "./clone-routes.ts";
export { changesRoutes, registerTool, rescueRoutes } from "./coding-routes.ts";
export { comparisonRoutes } from "./comparison-routes.ts";
export { decisionRoutes } from "./decision-routes.ts";
export { draftRoutes } from "./draft-routes.ts";
export { eventRoutes, webhookRoutes } from "./event-routes.ts";
export { folderProfileRoutes } from "./folder-profile-routes.ts";
export { folderRoutes, placeRoutes } from "./folder-routes.ts";
export { folderScriptRoutes } from "./folder-script-routes.ts";
export {
  docsRoutes,
  healthRoutes,
  manifestRoutes,
  openApiRoutes,
  type ReadyParts,
  readyRoutes,
} from "./gateway-routes.ts";
export { type LogRoutesDeps, logRoutes } from "./log-routes.ts";
export { mcpRoutes } from "./mcp-routes.ts";
export { appRoutes, clientRoutes, oauthRoutes } from "./oauth-routes.ts";
export { passkeyRoutes } from "./passkey-routes.ts";
export { permissionRuleRoutes } from "./permission-rule-routes.ts";
export { toProblem } from "./problem-response.ts";
export { publishRoutes } from "./publish-routes.ts";
export { pushRoutes } from "./push-routes.ts";
export { queueRoutes } from "./queue-routes.ts";
export { recordingRoutes } from "./recording-routes.ts";
export { reviewRoutes } from "./review-routes.ts";
export { reviewedFileRoutes } from "./reviewed-file-routes.ts";
export type { Access, HttpApp, RouteModule, RouteServer } from "./route-server.ts";
export { createHttpServer, type HttpConfig, type HttpDeps, type HttpServer } from "./server.ts";
export { sessionNoteRoutes } from "./session-note-routes.ts";
export { sharingRoutes } from "./sharing-routes.ts";
export { signInRoutes } from "./sign-in-routes.ts";
export { terminalSocket, ticketRoutes } from "./terminal-socket.ts";
export { turnRoutes } from "./turn-routes.ts";
export { webRoutes } from "./web-routes.ts";
