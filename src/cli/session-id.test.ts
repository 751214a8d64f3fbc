import { afterEach, expect, test } from "vitest";
import { type CliRun, runCommand } from "../../test/support/run-cli.ts";
import {
  readOutput,
  type ScriptedGateway,
  sessionSummary,
  startScriptedGateway,
} from "../../test/support/scripted-gateway.ts";
import type { SessionSummary } from "../wire/coding.ts";

const whole = "0b0c0000-0000-4000-8000-000000000001";
const other = "0b0c1111-0000-4000-8000-000000000002";

let gateway: ScriptedGateway | undefined;
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});

/** Runs a command against a gateway that lists these sessions for any request. */
async function run(argv: readonly string[], sessions: readonly SessionSummary[], total?: number): Promise<CliRun> {
  const page = { total: total ?? sessions.length, limit: 5, offset: 0, hasMore: false, indexing: null };
  gateway = await startScriptedGateway({
    coding_list_sessions: [{ body: { ...page, sessions } }],
    coding_read_session: [{ body: readOutput() }],
    coding_interrupt: [{ body: { ...sessionSummary(), interrupted: true } }],
  });
  const { socketPath } = gateway;
  const clock = {
    now: () => Date.parse("2025-01-01T03:00:01.000Z"),
    sleep: async () => undefined,
    after: () => () => undefined,
  };
  return runCommand(argv, { ports: { socketPath: async () => socketPath }, clock });
}

const requests = (): readonly unknown[] =>
  (gateway?.requests ?? []).map(({ path, body }) => [path.slice("/api/coding/".length), body]);

test("the start of an ID names the only session whose ID starts with it", async () => {
  expect(await run(["coding", "interrupt", "0b0c0"], [sessionSummary()])).toMatchObject({ code: 0 });
  expect(requests()).toEqual([
    ["coding_list_sessions", { idPrefix: "0b0c0", limit: 5 }],
    ["coding_interrupt", { sessionId: whole }],
  ]);
});

test("`last` names the most recently updated session, and is never sent as an ID", async () => {
  const sessions = [sessionSummary({ sessionId: other }), sessionSummary({ sessionId: "last" })];
  await run(["coding", "read", "last"], sessions);
  expect(requests()).toEqual([
    ["coding_list_sessions", { limit: 1 }],
    ["coding_read_session", { sessionId: other }],
  ]);
  await gateway?.close();
  const none = await run(["coding", "read", "last"], []);
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("`postern coding ask <prompt>`") });
  expect(requests()).toHaveLength(1);
});

test.each([[whole], [whole.toUpperCase()], ["ses_0123456789abcdefghijklmnop"], ["0b0"]])(
  "%s costs no additional request",
  async (id) => {
    await run(["coding", "read", id], []);
    expect(requests()).toEqual([["coding_read_session", { sessionId: id }]]);
  },
);

test("an ambiguous start is a usage error that lists the sessions with title and age", async () => {
  const sessions = [
    sessionSummary({ title: "Fix\u001b[31m the\nguard" }),
    sessionSummary({ sessionId: other, updatedAt: "2024-12-30T00:00:00.000Z" }),
  ];
  const refused = await run(["coding", "close", "0b0c"], sessions, 7);
  expect(refused).toEqual({
    code: 2,
    stdout: "",
    stderr: `postern: usage: "0b0c" is the start of 7 session IDs: ${whole} (Fix the guard, 3h); ${other} (no title, 2d); and 5 more. Add characters until it is unique. Run \`postern coding close --help\` for usage.\n`,
  });
  expect(requests()).toHaveLength(1);
});

test("a whole ID that other IDs start with names its own session", async () => {
  const sessions = [sessionSummary({ sessionId: "build-2" }), sessionSummary({ sessionId: "build" })];
  await run(["coding", "read", "build"], sessions);
  expect(requests().at(-1)).toEqual(["coding_read_session", { sessionId: "build" }]);
});

test("a name of no session is sent as it is, because memory can have entries of others", async () => {
  await run(["coding", "read", "my-session"], []);
  expect(requests().at(-1)).toEqual(["coding_read_session", { sessionId: "my-session" }]);
});

test.each([
  [["coding", "ask", "--session", "last", "hi"]],
  [["coding", "answer", "last"]],
  [["coding", "close", "last"]],
  [["rescue", "show", "last"]],
  [["rescue", "restore", "last"]],
  [["rescue", "drop", "last"]],
  [["session", "forget", "last", "--yes"]],
  [["memory", "record", "last"]],
  [["memory", "list", "--session", "last"]],
  [["memory", "search", "x", "--session", "last"]],
  [["memory", "add", "x", "--session", "last"]],
  [["memory", "purge", "--session", "last", "--yes"]],
  [["events", "--session", "last"]],
])("%j takes a short name of a session", async (argv) => {
  await run(argv, [sessionSummary({ sessionId: other })]);
  const [list, then] = gateway?.requests ?? [];
  expect(list).toEqual({ path: "/api/coding/coding_list_sessions", body: { limit: 1 } });
  expect(JSON.stringify(then)).toContain(other);
});
