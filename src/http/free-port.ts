import { once } from "node:events";
import { createServer } from "node:net";
import { isErrno, PosternError } from "../core/errors.ts";

/**
 * Checks early whether a port is free. Another program can still take it before the gateway listens, which checks again.
 * @param options `port`: 0 is always free
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
      // For unavailable addresses, listening reports a better error.
      if (isErrno(error, "EADDRINUSE")) throw portTaken({ host, port }, error);
    } finally {
      await new Promise((closed) => server.close(closed));
    }
  }
}

export function portTaken(
  { host, port }: { readonly host: string; readonly port: number },
  cause: unknown,
): PosternError {
  const message = `Port ${port} on ${host} is already in use. Stop the program that uses it, or choose another port with --port.`;
  return new PosternError("address_in_use", message, { cause });
}
