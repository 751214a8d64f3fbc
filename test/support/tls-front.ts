import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { resolve } from "node:path";
import { pipeline } from "node:stream";
import { createServer } from "node:tls";

const folder = resolve(import.meta.dirname, "../fixtures/tls");

/** https in front of a gateway, with an untrusted certificate; bytes pass unchanged. */
export interface TlsFront {
  /** `https://localhost:<port>` */
  readonly url: string;
  /** Connections go to this port of the loopback from now on. */
  leadTo(port: number): void;
  close(): void;
}

/** Listens first, because a gateway has to know its address before it starts. */
export async function startTlsFront(): Promise<TlsFront> {
  const [cert, key] = await Promise.all(
    ["localhost-cert.pem", "localhost-key.pem"].map((name) => readFile(resolve(folder, name))),
  );
  let target = 0;
  const server = createServer({ cert, key }, (outside) => {
    const inside = connect(target, "127.0.0.1");
    // Either side may go away at any time.
    pipeline(outside, inside, outside, () => undefined);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `https://localhost:${typeof address === "object" && address !== null ? address.port : 0}`,
    leadTo(port) {
      target = port;
    },
    close: () => void server.close(),
  };
}
