import { PosternError } from "../core/errors.ts";
import type { Mcp, McpDeps } from "./ports.ts";

export type { Mcp, McpDeps, McpLimits, McpRequest, McpSessions } from "./ports.ts";

/** The endpoint, loaded with the first request so that the protocol's library does not delay startup. */
export function createMcp(deps: McpDeps): Mcp {
  let loading: Promise<Mcp> | undefined;
  let closed = false;
  return {
    async handle(request) {
      if (closed) throw new PosternError("gateway_stopping", "The gateway is stopping. Try again when it is back.");
      loading ??= import("./endpoint.ts").then(({ createEndpoint }) => createEndpoint(deps));
      return (await loading).handle(request);
    },
    async close() {
      closed = true;
      // A failed load was already reported.
      await (await loading?.catch(() => null))?.close();
    },
  };
}
