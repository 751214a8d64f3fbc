import { createServer, request } from "node:http";
import { onTestFinished } from "vitest";

/**
 * Adds a bearer token to everything that passes, for clients that cannot send one; ended with the test.
 * @param rename other names in bodies, from the client's to the server's
 */
export async function startBearerProxy(
  target: string,
  token: string,
  rename: (body: string) => string = (body) => body,
): Promise<{ readonly url: string }> {
  const { hostname, port } = new URL(target);
  let own = "";
  const server = createServer((incoming, answer) => {
    // Replaces its own host name with the target's; everything else that a client sends is unchanged.
    const renamed = Object.entries(incoming.headers).map(([name, value]) => [
      name,
      typeof value === "string" ? rename(value.replaceAll(own, `${hostname}:${port}`)) : value,
    ]);
    const { method, url: path } = incoming;
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const body = rename(Buffer.concat(chunks).toString());
      const headers = { ...Object.fromEntries(renamed), authorization: `Bearer ${token}` };
      if (body !== "") headers["content-length"] = Buffer.byteLength(body);
      const outgoing = request({ hostname, port, method, path, headers }, (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      });
      outgoing.on("error", () => answer.destroy());
      answer.on("close", () => outgoing.destroy());
      outgoing.end(body);
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  own = `localhost:${address !== null && typeof address !== "string" ? address.port : 0}`;
  return { url: `http://${own}` };
}
