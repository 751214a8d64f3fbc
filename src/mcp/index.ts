import { PosternError } from "../core/errors.ts";
import type { Mcp, McpDeps } from "./ports.ts";

export type { Mcp, McpDeps, McpLimits, McpRequest, McpSessions } from "./ports.ts";

/** The endpoint, loaded when the first client comes: the protocol's library is not what a gateway should start with. */
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
      // A failed load was reported already, and holds nothing.
      await (await loading?.catch(() => null))?.close();
    },
  };
}
