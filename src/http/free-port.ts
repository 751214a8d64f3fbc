import { once } from "node:events";
import { createServer } from "node:net";
import { isErrno, PosternError } from "../core/errors.ts";

/**
 * Looks whether a port is free, before anything is made that needs it. Somebody may take it in between: who listens in the end looks again.
 * @param options `port`: 0, any port, is always free
 * @throws PosternError `address_in_use`
 */
export async function requireFreePort({
  hosts,
  port,
}: {
  readonly hosts: readonly string[];
  readonly port: number;
}): Promise<void> {
  if (port === 0) return;
  for (const host of hosts) {
    const server = createServer().listen({ host, port });
    try {
      await once(server, "listening");
    } catch (error) {
      // Of an address that this machine does not have, who listens says more.
      if (isErrno(error, "EADDRINUSE")) throw portTaken({ host, port }, error);
    } finally {
      await new Promise((closed) => server.close(closed));
    }
  }
}

/** What is said of a port that another program has. */
export function portTaken(
  { host, port }: { readonly host: string; readonly port: number },
  cause: unknown,
): PosternError {
  const message = `Port ${port} of ${host} is taken. Stop what listens there, or choose another with --port.`;
  return new PosternError("address_in_use", message, { cause });
}
