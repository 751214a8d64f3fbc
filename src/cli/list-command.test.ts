import { afterEach, expect, test } from "vitest";
import { type CliRun, runCommand } from "../../test/support/run-cli.ts";
import {
  problem,
  type ScriptedGateway,
  sessionSummary,
  startScriptedGateway,
} from "../../test/support/scripted-gateway.ts";
import type { ListOutput } from "../wire/session-lists.ts";

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

test("list prints a line for each session: how long ago, who, what it does, its title, where, and its ID", async () => {
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

test("list sends its filters, folders from where it runs", async () => {
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
])("list refuses %s %s before it asks", async (...argv) => {
  const run = await list(page(), argv);
  expect(run.code).toBe(2);
  expect(gateway?.requests).toEqual([]);
});

test("list says how to go on, that not everything is indexed yet, and that there is nothing", async () => {
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
