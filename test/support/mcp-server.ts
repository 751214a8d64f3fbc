import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import type { Principal } from "../../src/accounts/index.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { PosternError } from "../../src/core/errors.ts";
import type { StreamMessage, StreamOptions } from "../../src/events/index.ts";
import { type HttpConfig, healthRoutes, mcpRoutes, toProblem } from "../../src/http/index.ts";
import { createMcp, type McpDeps, type McpLimits, type McpSessions } from "../../src/mcp/index.ts";
import type { Tool } from "../../src/wire/tool.ts";
import { startHttpServer, type TestHttpServer } from "./http-server.ts";
import { readOutput } from "./scripted-gateway.ts";

/** A gateway's `/mcp`, with the tools, sessions and events that the test gives it. */
export interface McpTestServer extends TestHttpServer {
  readonly mcpUrl: string;
  /** Lets everybody who follows the events know. */
  publish(message: StreamMessage): void;
  /** A connected client, closed when the test ends. `era`: the family of the specification that it uses. */
  connect(era: "2025" | "2026", token: string): Promise<Client>;
}

/** One session for all callers. */
export const oneSession: McpSessions = {
  list: async ({ limit = 20, offset = 0 }) => ({
    total: 1,
    limit,
    offset,
    hasMore: false,
    indexing: null,
    sessions: offset === 0 ? [readOutput({ title: "A \u001b[31mtitle" })] : [],
  }),
  async read({ sessionId }) {
    const session = readOutput({ title: "A title" });
    if (sessionId === session.sessionId) return session;
    throw new PosternError("session_not_found", `There is no session ${sessionId}.`);
  },
};

/** Starts it for the running test. */
export async function startMcpServer({
  tools,
  sessions = oneSession,
  limits = {},
  isConnected = async () => true,
  clock = systemClock,
  config = {},
}: {
  readonly tools: readonly Tool<Principal>[];
  readonly sessions?: McpSessions;
  readonly limits?: Partial<McpLimits>;
  readonly isConnected?: McpDeps["isConnected"];
  readonly clock?: Clock;
  readonly config?: Partial<HttpConfig>;
}): Promise<McpTestServer> {
  const followers = new Set<(message: StreamMessage) => void>();
  const server = await startHttpServer(
    () => {
      const deps: McpDeps = {
        version: "1.2.3",
        tools,
        sessions,
        events: (options) => follow(followers, options),
        problemOf: (error, requestId) => toProblem(error, requestId).problem,
        isConnected,
        clock,
        log: silent,
        limits,
      };
      const mcp = createMcp(deps);
      onTestFinished(() => mcp.close());
      return [healthRoutes, mcpRoutes({ handle: (request) => mcp.handle(request), log: silent, clock })];
    },
    config,
    { clock },
  );
  const mcpUrl = `${server.url}/mcp`;
  return {
    ...server,
    mcpUrl,
    publish: (message) => {
      for (const follower of followers) follower(message);
    },
    async connect(era, token) {
      const mode = era === "2025" ? "legacy" : "auto";
      const client = new Client({ name: "test", version: "0" }, { versionNegotiation: { mode } });
      const requestInit = { headers: { authorization: `Bearer ${token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit }));
      onTestFinished(() => client.close());
      return client;
    },
  };
}

const nothing = (): void => undefined;
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

async function* follow(
  followers: Set<(message: StreamMessage) => void>,
  { signal }: StreamOptions,
): AsyncGenerator<StreamMessage, void> {
  const waiting: StreamMessage[] = [];
  let wake = nothing;
  const take = (message: StreamMessage): void => {
    waiting.push(message);
    wake();
  };
  followers.add(take);
  try {
    while (!signal.aborted) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
      }
    }
  } finally {
    followers.delete(take);
  }
}
