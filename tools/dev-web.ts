// `npm run dev:web [gateway]`: the web application from its source, each edit shown at once, in front of a gateway that runs.
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

/** `web/api/` has the same beginning: what ends as a source file is the application's own. */
const gatewayPaths = "^/(api/(?!.*\\.tsx?($|\\?))|docs|openapi\\.json)";

const server = await createServer({
  ...webConfig,
  server: { host: "localhost", port: 7178, proxy: { [gatewayPaths]: proxy } },
});
await server.listen();
server.printUrls();
