import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";

const folder = resolve(import.meta.dirname, "../fixtures/tls");

/** The certificate of {@link serveDocument}, for `NODE_EXTRA_CA_CERTS` of processes that trust it. */
export const testCertificatePath = join(folder, "localhost-cert.pem");

/** A client's metadata document on an https server of this machine. */
export interface ServedDocument {
  /** The document's address, which is the client's id. */
  readonly clientId: string;
  /** How often it was fetched. */
  readonly fetched: () => number;
}

/** Serves a client's metadata document by https on the loopback; closed with the running test. */
export async function serveDocument(metadata: Readonly<Record<string, unknown>>): Promise<ServedDocument> {
  let fetched = 0;
  let document = "";
  const server = createServer(
    { cert: readFileSync(testCertificatePath), key: readFileSync(join(folder, "localhost-key.pem")) },
    (_request, response) => {
      fetched += 1;
      response.setHeader("content-type", "application/json");
      response.end(document);
    },
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const clientId = `https://localhost:${port}/client.json`;
  document = JSON.stringify({ client_id: clientId, ...metadata });
  return { clientId, fetched: () => fetched };
}
