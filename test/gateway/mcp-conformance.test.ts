import { expect, test } from "vitest";
import { z } from "zod";
import type { Principal } from "../../src/accounts/index.ts";
import { PosternError } from "../../src/core/errors.ts";
import type { McpSessions } from "../../src/mcp/index.ts";
import type { Tool } from "../../src/wire/tool.ts";
import { startBearerProxy } from "../support/bearer-proxy.ts";
import { findNonconformance } from "../support/mcp-conformance.ts";
import { startMcpServer } from "../support/mcp-server.ts";
import { echoTool } from "../support/mcp-tools.ts";
import { readOutput } from "../support/scripted-gateway.ts";
import { useGateway } from "../support/use-gateway.ts";

const it = useGateway({ agents: false });

test("the gateway conforms to both families of the specification, in all that applies to it", async () => {
  const { accounts } = it.gateway.app;
  const scopes = ["coding:read", "coding:write"] as const;
  const wanted = { name: "conformance", scopes, folders: null, expiresAt: null };
  const { token } = await accounts.tokens.create((await accounts.owner()).accountId, wanted);
  const { url } = await startBearerProxy(it.gateway.url, token);
  expect(await findNonconformance(url, { demo: false })).toEqual([]);
});

const nothing = z.strictObject({});

/** The tools of the suite's demonstration server that a server such as Postern can have. */
const demoTools: readonly Tool<Principal>[] = [
  {
    ...echoTool,
    name: "test_simple_text",
    input: nothing,
    output: z.object({ text: z.string() }),
    run: async () => ({ text: "This is a simple text response for testing." }),
  },
  {
    ...echoTool,
    name: "test_error_handling",
    input: nothing,
    output: nothing,
    run: () => Promise.reject(new PosternError("session_busy", "This tool intentionally returns an error.")),
  },
  {
    ...echoTool,
    name: "test_tool_with_progress",
    input: nothing,
    output: nothing,
    run: async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return {};
    },
  },
];

/** Its resources, as sessions: the proxy gives them their names here. */
const demoSessions: McpSessions = {
  list: async ({ limit = 20, offset = 0 }) => ({
    total: 1,
    limit,
    offset,
    hasMore: false,
    indexing: null,
    sessions: [readOutput({ sessionId: "123" })],
  }),
  async read({ sessionId }) {
    if (sessionId === "123") return readOutput({ sessionId, title: "123" });
    throw new PosternError("session_not_found", `There is no session ${sessionId}.`);
  },
};

test("with tools and resources of the suite's own, it conforms in them too", async () => {
  const server = await startMcpServer({ tools: demoTools, sessions: demoSessions, limits: { progressMs: 50 } });
  const rename = (text: string): string =>
    text.replaceAll(/test:\/\/(static-text|watched-resource|template\/123\/data)/g, "postern://sessions/123");
  const { url } = await startBearerProxy(server.url, await server.token("coding:read"), rename);
  expect(await findNonconformance(url, { demo: true })).toEqual([]);
});
