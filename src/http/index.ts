export { healthRoutes } from "./health-routes.ts";
export { manifestRoutes } from "./manifest-routes.ts";
export type { Access, HttpApp, RouteModule, RouteServer } from "./route-server.ts";
export { createHttpServer, type HttpConfig, type HttpDeps, type HttpServer } from "./server.ts";
export { registerTool, type Tool } from "./tool-routes.ts";
