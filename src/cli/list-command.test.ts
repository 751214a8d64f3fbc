import { afterEach, expect, test } from "vitest";
import { type CliRun, runCommand } from "../../test/support/run-cli.ts";
import {
  problem,
  type ScriptedGateway,
  sessionSummary,
  startScriptedGateway,
} from "../../test/support/scripted-gateway.ts";
import type { ListOutput, SearchOutput } from "../wire/session-lists.ts";

let gateway: ScriptedGateway | undefined;

afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});

async function list(
  answer: { readonly status?: number; readonly body: unknown },
  argv: readonly string[] = [],
  columns: number | null = null,
): Promise<CliRun> {
  gateway = await startScriptedGateway({ coding_list_sessions: [answer] });
  const { socketPath } = gateway;
  return runCommand(["coding", "list", ...argv], { ports: { socketPath: async () => socketPath }, columns });
}

const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();
const quiet = { activity: null, owner: null, pid: null, status: "completed" } as const;

function page(differs: Partial<ListOutput> = {}): { readonly body: ListOutput } {
  const sessions = [
    sessionSummary({ sessionId: "one", title: "Login page", activity: "needs_permission", updatedAt: ago(1_000) }),
    sessionSummary({ sessionId: "two", title: `Long ${"x".repeat(100)}`, ...quiet, updatedAt: ago(3 * 60_000) }),
    sessionSummary({ sessionId: "three", ...quiet, agent: "codex", updatedAt: ago(49 * 3_600_000) }),
    sessionSummary({
      sessionId: "four",
      title: "a\u001b[31mb\nc",
      activity: "working",
      owner: "external",
      updatedAt: ago(5 * 3_600_000),
    }),
  ];
  return { body: { sessions, total: 4, limit: 20, offset: 0, hasMore: false, indexing: null, ...differs } };
}

test("list prints a line for each session: age, agent, activity, title, folder and ID", async () => {
  const run = await list(page());
  expect(gateway?.requests).toEqual([{ path: "/api/coding/coding_list_sessions", body: {} }]);
  expect(run.code).toBe(0);
  const lines = run.stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/));
  expect(lines).toEqual([
    ["AGE", "AGENT", "STATE", "TITLE", "DIR", "ID"],
    ["now", "claude-code", "needs permission", "Login page", "/srv/code", "one"],
    ["3m", "claude-code", "completed", `Long ${"x".repeat(42)}…`, "/srv/code", "two"],
    ["2d", "codex", "completed", "-", "/srv/code", "three"],
    ["5h", "claude-code", "working (elsewhere)", "ab c", "/srv/code", "four"],
  ]);
  expect(run.stderr).toBe("1 to 4 of 4.\n");
});

test("list sends its filters, with folders relative to the working directory", async () => {
  const filters = ["--agent", "agent_b", "--since", "2026-01-31", "--dir", "sub", "--status", "failed"];
  await list(page(), [...filters, "--limit", "5", "--offset", "10"]);
  expect(gateway?.requests[0]?.body).toEqual({
    agent: "agent_b",
    since: "2026-01-31",
    dir: "/srv/code/sub",
    status: "failed",
    limit: 5,
    offset: 10,
  });
});

test.each([
  ["--since", "yesterday"],
  ["--status", "asleep"],
  ["--limit", "0"],
  ["--limit", "201"],
  ["--offset", "-1"],
])("list refuses %s %s before it calls the gateway", async (...argv) => {
  const run = await list(page(), argv);
  expect(run.code).toBe(2);
  expect(gateway?.requests).toEqual([]);
});

test("list prints how to continue, that not everything is indexed yet, and that there are no sessions", async () => {
  const indexing = { done: 30, total: 10_000 };
  const more = await list(page({ total: 40, offset: 4, hasMore: true, indexing }));
  expect(more.stderr).toBe("5 to 8 of 40. More: --offset 8. 30 of 10000 transcripts indexed so far.\n");
  await gateway?.close();
  const none = await list(page({ sessions: [], total: 0 }));
  expect([none.stdout, none.stderr]).toEqual(["", "No sessions.\n"]);
});

test("list prints JSON, and an error with its code", async () => {
  const json = await list(page(), ["--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({ total: 4, sessions: [{ sessionId: "one" }, {}, {}, {}] });
  await gateway?.close();
  const failed = await list({ status: 404, body: problem(404, "agent_unknown") }, ["--agent", "nobody"]);
  expect(failed.code).not.toBe(0);
  expect(failed.stderr).toContain("agent_unknown");
});

test.each([200, 120, 104, 90, 80])(
  "in a terminal of %i columns no line is wrapped, and every ID is whole",
  async (columns) => {
    const ids = ["0b0c0000-0000-4000-8000-000000000001", "0b0c0000-0000-4000-8000-000000000002"];
    const sessions = [
      sessionSummary({ sessionId: ids[0] ?? "", title: "t".repeat(100), dir: "/srv/code/of/many/people/project" }),
      sessionSummary({ sessionId: ids[1] ?? "", title: "short", activity: "needs_permission", dir: "/code" }),
    ];
    const { stdout } = await list(page({ sessions, total: 2 }), [], columns);
    const lines = stdout.trimEnd().split("\n");
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(columns);
    expect(lines.slice(1).map((line) => line.split(/ +/).at(-1))).toEqual(ids);
    expect(stdout).toMatch(/ t{3,47}… /);
    if (columns === 200) expect(stdout).toContain(` ${"t".repeat(47)}…  /srv/code/of/many/people/project  `);
    if (columns === 104) expect(stdout).toMatch(/ …\S*project {2}| \/srv\/code\/of\/many\/people\/project {2}/);
  },
);

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

test("search sends the words as one query, with folders relative to the working directory, and prints the matches", async () => {
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

test("on a terminal the words are bold, and the text contains no other escapes", async () => {
  const run = await search(found(), ["LOGIN", "redir"], { interactive: true });
  expect(run.stdout).toContain("\u001b[1mLogin\u001b[22m page\n");
  expect(run.stdout).toContain("the \u001b[1mlogin\u001b[22m \u001b[1mredir\u001b[22mect…");
  expect(run.stdout.replaceAll(/\u001b\[(?:1|22)m/g, "")).not.toContain("\u001b");
});

test("search prints how to continue, and that not everything is indexed yet", async () => {
  const run = await search(found({ total: 40, offset: 10, hasMore: true, indexing: { done: 30, total: 10_000 } }), [
    "x",
  ]);
  expect(run.stderr).toBe("11 to 12 of 40. More: --offset 12. 30 of 10000 transcripts indexed so far.\n");
  const none = await search(found({ sessions: [], total: 0 }), ["x"]);
  expect(none).toMatchObject({ code: 0, stdout: "", stderr: "No matching sessions.\n" });
});

test("search prints JSON, and the gateway's message for a refused query", async () => {
  const run = await search(found(), ["x", "--json"]);
  expect(JSON.parse(run.stdout)).toEqual(found().body);
  const refused = await search({ status: 400, body: problem(400, "invalid_request") }, ["--", "-"]);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("This is invalid_request.");
});

test("search without words, or with an invalid limit, is a usage error", async () => {
  expect((await search(found(), [])).stderr).toContain("query");
  expect((await search(found(), ["x", "--limit", "0"])).stderr).toContain("from 1 to 200");
  expect((await search(found(), ["x", "--in", "files"])).code).toBe(2);
});
