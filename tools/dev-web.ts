// `npm run dev:web [gateway]`: serves the web application from its source, with live reload, in front of a running gateway.
import { createServer, type ProxyOptions } from "vite";
import { webConfig } from "./web-config.ts";

const gateway = new URL(process.argv[2] ?? "http://localhost:7177").origin;

/** Requests appear to come from the gateway's own page, because it refuses other names and origins. */
const proxy: ProxyOptions = {
  target: gateway,
  changeOrigin: true,
  ws: true,
  configure(server) {
    server.on("proxyReq", (request) => request.setHeader("origin", gateway));
    server.on("proxyReqWs", (request) => request.setHeader("origin", gateway));
  },
};

/** `web/api/` has the same prefix: paths that end like source files belong to the application. */
const gatewayPaths = "^/(api/(?!.*\\.tsx?($|\\?))|docs|openapi\\.json)";

const server = await createServer({
  ...webConfig,
  server: { host: "localhost", port: 7178, proxy: { [gatewayPaths]: proxy } },
});
await server.listen();
server.printUrls();
