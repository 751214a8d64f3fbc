import { afterEach, expect, test } from "vitest";
import { type CliRun, runCommand } from "../../test/support/run-cli.ts";
import {
  problem,
  type ScriptedGateway,
  sessionSummary,
  startScriptedGateway,
} from "../../test/support/scripted-gateway.ts";
import type { SearchOutput } from "../wire/session-lists.ts";

let gateway: ScriptedGateway | undefined;

afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});

async function search(
  answer: { readonly status?: number; readonly body: unknown },
  argv: readonly string[],
  options: Parameters<typeof runCommand>[1] = {},
): Promise<CliRun> {
  gateway = await startScriptedGateway({ coding_search_sessions: [answer] });
  const { socketPath } = gateway;
  return runCommand(["coding", "search", ...argv], { ports: { socketPath: async () => socketPath }, ...options });
}

function found(differs: Partial<SearchOutput> = {}): { readonly body: SearchOutput } {
  const session = sessionSummary({ title: "Login page", dir: "/srv/code" });
  const sessions = [
    { ...session, match: { field: "title" as const, turnIndex: null, snippet: "Login page" } },
    {
      ...session,
      title: null,
      match: { field: "turn" as const, turnIndex: 4, snippet: "…the login\u001b[31m redirect…" },
    },
  ];
  return { body: { sessions, total: 2, limit: 10, offset: 0, hasMore: false, indexing: null, ...differs } };
}

test("search sends the words as one query, with folders from where it runs, and prints each session with its place", async () => {
  const argv = ["login", "page", "--in", "all", "--dir", "sub", "--agent", "agent_b", "--limit", "2", "--offset", "4"];
  const run = await search(found(), argv);
  expect(gateway?.requests).toEqual([
    {
      path: "/api/coding/coding_search_sessions",
      body: { query: "login page", in: "all", dir: "/srv/code/sub", agent: "agent_b", limit: 2, offset: 4 },
    },
  ]);
  expect(run.code).toBe(0);
  expect(run.stdout.split("\n")).toEqual([
    "Login page",
    "  0b0c0000-0000-4000-8000-000000000001 · claude-code · running · 2025-01-01T00:00:01.000Z · /srv/code",
    "(no title)",
    "  0b0c0000-0000-4000-8000-000000000001 · claude-code · running · 2025-01-01T00:00:01.000Z · /srv/code",
    "  turn 4: …the login redirect…",
    "",
  ]);
  expect(run.stderr).toBe("1 to 2 of 2.\n");
});

test("on a terminal the words are shown in bold, and nothing else of the text has escapes", async () => {
  const run = await search(found(), ["LOGIN", "redir"], { interactive: true });
  expect(run.stdout).toContain("\u001b[1mLogin\u001b[22m page\n");
  expect(run.stdout).toContain("the \u001b[1mlogin\u001b[22m \u001b[1mredir\u001b[22mect…");
  expect(run.stdout.replaceAll(/\u001b\[(?:1|22)m/g, "")).not.toContain("\u001b");
});

test("search says how to go on, and that not everything is indexed yet", async () => {
  const run = await search(found({ total: 40, offset: 10, hasMore: true, indexing: { done: 30, total: 10_000 } }), [
    "x",
  ]);
  expect(run.stderr).toBe("11 to 12 of 40. More: --offset 12. 30 of 10000 transcripts indexed so far.\n");
  const none = await search(found({ sessions: [], total: 0 }), ["x"]);
  expect(none).toMatchObject({ code: 0, stdout: "", stderr: "No session found.\n" });
});

test("search prints JSON, and a query that the gateway refuses with its words", async () => {
  const run = await search(found(), ["x", "--json"]);
  expect(JSON.parse(run.stdout)).toEqual(found().body);
  const refused = await search({ status: 400, body: problem(400, "invalid_request") }, ["--", "-"]);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("This is invalid_request.");
});

test("search without words, or with a limit that is none, explains itself", async () => {
  expect((await search(found(), [])).stderr).toContain("query");
  expect((await search(found(), ["x", "--limit", "0"])).stderr).toContain("from 1 to 200");
  expect((await search(found(), ["x", "--in", "files"])).code).toBe(2);
});
