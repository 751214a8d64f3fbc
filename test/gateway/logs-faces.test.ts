import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import type { LogEntry, LogPage, LogSearch } from "../../src/wire/logs.ts";
import { mcpConnection } from "../support/oauth-mcp-app.ts";
import { startTypedCommands } from "../support/typed-commands.ts";
import { useGateway } from "../support/use-gateway.ts";

const use = useGateway({ agents: false });
/** Of the owner, for the memory alone. */
let token = "";

beforeAll(async () => {
  const { accounts } = use.gateway.app;
  const wanted = { name: "asks", scopes: ["logs:read", "logs:write"], folders: null, expiresAt: null } as const;
  ({ token } = await accounts.tokens.create((await accounts.owner()).accountId, wanted));
});

describe("an agent", () => {
  test("finds the memory tools, and results are marked as untrusted", async () => {
    const { api } = use.gateway;
    const content = "Decision: retries = 3\nbecause of the flaky mirror";
    const { logId } = (await api.post<LogEntry>("/api/v1/logs", { content, sessionId: "earlier" })).body;
    const { client, transport } = mcpConnection(`${use.gateway.url}/mcp`, token);
    await client.connect(transport);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(["memory_facts", "memory_search"]);
    for (const { annotations } of tools)
      expect(annotations).toMatchObject({ readOnlyHint: true, openWorldHint: false });
    const found = await client.callTool({ name: "memory_search", arguments: { q: "flaky mirror" } });
    expect(found.structuredContent).toMatchObject({
      notice: expect.stringContaining("Untrusted"),
      hits: [{ log: { logId, sessionId: "earlier" }, snippet: expect.stringContaining("flaky") }],
    });
    const facts = await client.callTool({
      name: "memory_facts",
      arguments: { subject: "Decision:retries", predicate: "status" },
    });
    expect(facts.structuredContent).toMatchObject({ facts: [{ logId, value: "3", validTo: null }] });
    const wrong = await client.callTool({ name: "memory_facts", arguments: { predicate: "Not one" } });
    expect(wrong).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("invalid_request") }] });
    await client.close();
    const posted = await api.post<LogSearch>("/api/coding/memory_search", { q: "flaky mirror" });
    expect(posted.body.hits.map(({ log }) => log.logId)).toEqual([logId]);
    const manifest = await api.get<{ tools: readonly { name: string }[] }>("/manifest");
    expect(manifest.body.tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["memory_search", "memory_facts"]),
    );
    const without = await use.gateway.client(["coding:read", "logs:write"]);
    expect((await without.post("/api/coding/memory_search", { q: "x" })).status).toBe(403);
  });
});

test("the commands of docs/memory.md work as printed", async () => {
  const page = await readFile(resolve(import.meta.dirname, "../../docs/memory.md"), "utf8");
  const script = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block).join("\n");
  const commands = await startTypedCommands(use.world.root, {
    socketPath: async () => join(use.world.home, "run", "gateway.sock"),
  });
  const env = {
    PATH: `${commands.binDir}:${process.env["PATH"] ?? ""}`,
    GATEWAY: use.gateway.url,
    TOKEN: token,
  };
  const { stdout } = await promisify(execFile)("sh", ["-eu", "-c", script], { env, timeout: 30_000 });
  await commands.close();
  expect(stdout).toContain("Why the mirror was slow\n");
  expect(stdout).toMatch(/Decision:timeout +status +30 s/);
  expect(stdout).toContain('"success":true');
  expect(stdout).toContain("Deleted 1 memory entry of the session");
  expect(stdout).toMatch(/Deleted \d+ entr(y|ies) with \d+ facts?\.\n$/);
  expect((await use.gateway.api.get<LogPage>("/api/v1/logs")).body.logs).toEqual([]);
}, 60_000);
