export { docsRoutes } from "./docs-routes.ts";
export { folderRoutes } from "./folder-routes.ts";
export { healthRoutes } from "./health-routes.ts";
export { manifestRoutes } from "./manifest-routes.ts";
export { openApiRoutes } from "./openapi-routes.ts";
export type { Access, HttpApp, RouteModule, RouteServer } from "./route-server.ts";
export { createHttpServer, type HttpConfig, type HttpDeps, type HttpServer } from "./server.ts";
export { tokenRoutes } from "./token-routes.ts";
export { registerTool, type Tool } from "./tool-routes.ts";
