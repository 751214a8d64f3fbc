import { once } from "node:events";
import { createServer } from "node:http";
import { onTestFinished } from "vitest";

/** Where an app of the machine waits for its code (RFC 8252 section 7.3). */
export interface CallbackServer {
  readonly port: number;
  readonly redirectUri: string;
  /** The address that the browser was sent to, once it was. */
  readonly arrived: Promise<URL>;
}

/** A loopback server on any free port, closed with the running test. */
export async function awaitCallback(path = "/callback"): Promise<CallbackServer> {
  const arrived = Promise.withResolvers<URL>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", `http://${request.headers.host ?? ""}`);
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>Back</title><h1>Back in the app</h1>");
    if (url.pathname === path) arrived.resolve(url);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { port, redirectUri: `http://127.0.0.1:${port}${path}`, arrived: arrived.promise };
}
