import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type CliRun, runCommand } from "../../test/support/run-cli.ts";
import { problem, sessionSummary, turn } from "../../test/support/scripted-gateway.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import type { SessionSummary } from "../wire/coding.ts";
import type { LogDetail, LogEntry, LogFact } from "../wire/logs.ts";

const sessionId = "0b0c0000-0000-4000-8000-000000000001";
const at = "2026-01-02T03:04:05.000Z";

function entry(differs: Partial<LogEntry> = {}): LogEntry {
  return {
    ...{ logId: "log1", source: "session", sessionId, dir: "/srv/code", title: "Fix\u001b[31m the guard" },
    ...{ status: "ready", failure: null, observedAt: at, recordedAt: at },
    ...differs,
  };
}

const fact: LogFact = {
  ...{ factId: "f", logId: "log1", statementId: "s", predicate: "status", object: null, value: "30\u0007 s" },
  subject: { entityId: "e", type: "Decision", key: "timeout" },
  ...{ validFrom: at, validTo: null, recordedAt: at, extractor: "rules@1" },
};
const detail: LogDetail = {
  ...entry({ failure: null }),
  ...{ content: null, turns: [turn(0, "why\u001b[2J so")], episode: { characters: 3, chunks: 1 } },
  ...{ facts: [fact], entities: [fact.subject] },
};
const preview = {
  logId: "log1",
  removed: { episode: true, facts: 4, statements: 1, entities: 2 },
  shared: { statements: 3, entities: 1 },
};
const deletion = {
  success: true,
  message: "Deleted it.",
  deleted: { episode: true, statements: 1, entities: 2, facts: 4 },
};

async function* typed(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

interface Answered {
  readonly status?: number;
  readonly body: unknown;
}

const running = (sessions: readonly SessionSummary[], total = sessions.length) => ({
  "POST /api/coding/coding_list_sessions": {
    body: { sessions, total, limit: 1, offset: 0, hasMore: false, indexing: null },
  },
});
const noneRunning: Readonly<Record<string, Answered>> = running([]);

interface World {
  readonly stdin?: string;
  readonly interactive?: boolean;
}

const memory = (argv: readonly string[], answers: Readonly<Record<string, Answered>>, world: World = {}) =>
  run(["memory", ...argv], answers, world);

/** Runs a command against a gateway that answers these requests, given as `<method> <path>`; anything else is a 404. */
async function run(
  argv: readonly string[],
  answers: Readonly<Record<string, Answered>>,
  world: World = {},
): Promise<CliRun & { readonly requests: readonly string[] }> {
  const socketPath = join(await makeTempFolder(), "gateway.sock");
  const requests: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      const named = `${request.method} ${request.url}`;
      requests.push(body === "" ? named : `${named} ${body}`);
      const answer = { ...noneRunning, ...answers }[named] ?? { status: 404, body: problem(404, "log_not_found") };
      response.writeHead(answer.status ?? 200, { "content-type": "application/json" }).end(JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((listening) => server.listen(socketPath, listening));
  onTestFinished(() => void server.close());
  const { stdin = "", interactive = false } = world;
  const ran = await runCommand(argv, {
    ports: { socketPath: async () => socketPath },
    interactive,
    stdin: typed(stdin),
  });
  return { ...ran, requests };
}

test("list sends its filters, and prints a line for each entry and how to continue", async () => {
  const path = `GET /api/v1/logs?sessionId=${sessionId}&source=session&status=ready&limit=2`;
  const body = { logs: [entry(), entry({ logId: "log2", title: null, status: "pending" })], nextCursor: "c1" };
  const argv = ["list", "--session", sessionId, "--source", "session", "--status", "ready", "--limit", "2"];
  const run = await memory(argv, { [path]: { body } });
  expect(run.stdout.split("\n")).toEqual([
    "TIME                      ENTRY  SOURCE            SESSION                               TITLE",
    `${at}  log1   session           ${sessionId}  Fix the guard`,
    `${at}  log2   session, pending  ${sessionId}  (no title)`,
    "",
  ]);
  expect(run).toMatchObject({ code: 0, stderr: "More: --cursor c1\n" });
  const none = await memory(["list"], { "GET /api/v1/logs": { body: { logs: [], nextCursor: null } } });
  expect(none).toMatchObject({
    code: 0,
    stdout: "",
    stderr: "No entries.\n",
  });
  const json = await memory([...argv, "--json"], { [path]: { body } });
  expect(JSON.parse(json.stdout)).toEqual(body);
  for (const wrong of [
    ["--limit", "0"],
    ["--source", "x"],
  ])
    expect((await memory(["list", ...wrong], {})).code).toBe(2);
});

test("show prints an entry and its facts, without control characters", async () => {
  const run = await memory(["show", "log1"], { "GET /api/v1/logs/log1": { body: detail } });
  expect(run.stdout).toContain(
    `Fix the guard\nEntry: log1 · session · ready\nSession: ${sessionId}\nDirectory: /srv/code\n`,
  );
  expect(run.stdout).toContain("why so");
  expect(run.stdout).toMatch(/now +Decision:timeout +status +30 s +log1\n$/);
  expect(run.stdout).not.toMatch(/[\u0007\u001b]/);
  const text = { ...detail, content: "a\u009b1mb", turns: null, facts: [] };
  expect((await memory(["show", "x/1"], { "GET /api/v1/logs/x%2F1": { body: text } })).stdout).toContain("\n\nab\n");
  const gone = await memory(["show", "none"], {});
  expect(gone).toMatchObject({
    code: 1,
    stderr: "postern: log_not_found: This is log_not_found. List entries with `postern memory list`.\n",
  });
});

test("search sends its filters", async () => {
  const path = "/api/v1/search?q=guard&sessionId=s1&source=session&status=ready";
  const answers = { [`GET ${path}`]: { body: { hits: [], hasMore: false, partial: false } } };
  const run = await memory(["search", "guard", "--session", "s1", "--source", "session", "--status", "ready"], answers);
  expect([run.code, run.stderr]).toEqual([0, "Nothing found.\n"]);
  expect((await memory(["search", "guard", "--source", "elsewhere"], answers)).code).toBe(2);
});

test("a search or list without results names a running session, which memory does not have yet", async () => {
  const none = {
    "GET /api/v1/search?q=guard": { body: { hits: [], hasMore: false, partial: false } },
    [`GET /api/v1/search?q=guard&sessionId=${sessionId}`]: { body: { hits: [], hasMore: false, partial: false } },
    "GET /api/v1/logs": { body: { logs: [], nextCursor: null } },
  };
  const list = 'POST /api/coding/coding_list_sessions {"status":"running","limit":1}';
  const hint = `By default, sessions are saved to memory when they end, and 2 sessions are running. To save one now: \`postern memory record ${sessionId}\`.\n`;
  const answers = { ...none, ...running([sessionSummary({ sessionId })], 2) };
  const search = await memory(["search", "guard"], answers);
  expect(search).toMatchObject({ code: 0, stdout: "", stderr: `Nothing found. ${hint}` });
  expect(search.requests.at(-1)).toBe(list);
  expect((await memory(["list"], answers)).stderr).toBe(`No entries. ${hint}`);
  const ofOne = await memory(["search", "guard", "--session", sessionId], answers);
  expect(ofOne.requests.at(-1)).toContain(`"idPrefix":"${sessionId}"`);
  expect((await memory(["search", "guard"], none)).stderr).toBe("Nothing found.\n");
  expect((await memory(["search", "guard", "--json"], answers)).requests).toHaveLength(1);
});

test("search shows each entry with the text around the words", async () => {
  const hits = [{ log: entry(), snippet: "…the \u001b[31mguard…", score: 1 }];
  const answers = { "GET /api/v1/search?q=the+guard&limit=1": { body: { hits, hasMore: true, partial: true } } };
  const run = await memory(["search", "the", "guard", "--limit", "1"], answers);
  expect(run.stdout).toBe(`Fix the guard\n  log1 · ${at} · ${sessionId}\n  …the guard…\n`);
  expect(run.stderr).toBe("1 entry. More with --limit. Only the newest matches were searched.\n");
  const bold = await memory(["search", "the", "guard", "--limit", "1"], answers, { interactive: true });
  expect(bold.stdout).toContain("\u001b[1mguard\u001b[22m");
});

test("facts sends its filters by the gateway's names", async () => {
  const query =
    "subject=Decision%3Atimeout&predicate=status&object=e1&asOf=2026-01-01T00%3A00%3A00Z&knownAt=2026-02-01T00%3A00%3A00Z";
  const argv = ["--subject", "Decision:timeout", "--predicate", "status", "--object", "e1"];
  const times = ["--as-of", "2026-01-01T00:00:00Z", "--known-at", "2026-02-01T00:00:00Z"];
  const body = { facts: [{ ...fact, validTo: at, object: fact.subject, value: null }], nextCursor: "c2" };
  const run = await memory(["facts", ...argv, ...times], { [`GET /api/v1/facts?${query}`]: { body } });
  expect(run.stdout).toMatch(
    new RegExp(`^SINCE .*\n${at}  ${at}  Decision:timeout  status +Decision:timeout  log1\n$`),
  );
  expect(run.stderr).toBe("More: --cursor c2\n");
  const none = await memory(["facts"], { "GET /api/v1/facts": { body: { facts: [], nextCursor: null } } });
  expect(none).toMatchObject({ code: 0, stderr: "No facts.\n" });
});

test("add remembers its words, or standard input; record a session", async () => {
  const made = { "POST /api/v1/logs": { status: 201, body: entry() } };
  const words = await memory(["add", "Decision:", "a = b", "--title", "T", "--session", "s"], made);
  expect(words).toMatchObject({ code: 0, stdout: "log1\n" });
  expect(words.requests).toEqual(['POST /api/v1/logs {"title":"T","content":"Decision: a = b","sessionId":"s"}']);
  const piped = await memory(["add"], made, { stdin: "from a pipe\n" });
  expect(piped.requests).toEqual(['POST /api/v1/logs {"content":"from a pipe\\n"}']);
  expect(await memory(["add"], made)).toMatchObject({ code: 2, requests: [] });
  const path = `POST /api/v1/sessions/${sessionId}/record`;
  const body = { outcome: "recorded", logIds: ["log1"], turns: 2 };
  expect(await memory(["record", sessionId], { [path]: { body } })).toMatchObject({
    ...{ code: 0, stdout: "log1\n", stderr: "Saved 2 turns to memory.\n" },
  });
  const known = { outcome: "known", logIds: [], turns: 0 };
  expect((await memory(["record", sessionId], { [path]: { body: known } })).stderr).toContain("already");
});

test("delete shows what it would delete and asks; only a yes deletes", async () => {
  const looks = {
    "GET /api/v1/logs/log1/deletion-preview": { body: preview },
    "GET /api/v1/logs/log1": { body: detail },
  };
  const answers = { ...looks, "DELETE /api/v1/logs/log1": { body: deletion } };
  const no = await memory(["delete", "log1"], answers, { interactive: true, stdin: "n\n" });
  expect(no).toMatchObject({ code: 0, stdout: "", requests: Object.keys(looks) });
  expect(no.stderr).toContain("Fix the guard");
  expect(no.stderr).toContain(
    "4 facts, 1 statement and 2 entities will be permanently deleted. 3 statements and 1 entity stay",
  );
  const removed = 'DELETE /api/v1/logs/log1 {"id":"log1"}';
  const yes = await memory(["delete", "log1"], answers, { interactive: true, stdin: "y\n" });
  expect(yes).toMatchObject({ stdout: "Deleted it.\n", requests: [...Object.keys(looks), removed] });
  const json = await memory(["delete", "log1", "--yes", "--json"], answers);
  expect([JSON.parse(json.stdout), json.requests]).toEqual([deletion, [removed]]);
  expect(await memory(["delete", "log1"], answers)).toMatchObject({ code: 2, requests: [] });
  expect(await memory(["delete", "none", "--yes"], answers)).toMatchObject({ code: 1 });
});

test("purge finds older entries page by page, asks once, and deletes each; entries already deleted are no error", async () => {
  const old = "2025-01-01T00:00:00.000Z";
  const pages = {
    "GET /api/v1/logs?limit=200": {
      body: { logs: [entry(), entry({ logId: "a", observedAt: old })], nextCursor: "c1" },
    },
    "GET /api/v1/logs?limit=200&cursor=c1": {
      body: { logs: [entry({ logId: "b", observedAt: old })], nextCursor: null },
    },
  };
  const answers = { ...pages, "DELETE /api/v1/logs/a": { body: { ...deletion, message: "It is pending." } } };
  const no = await memory(["purge", "--before", "2026-01-01"], answers, { interactive: true, stdin: "\n" });
  expect(no).toMatchObject({ stdout: "", requests: Object.keys(pages) });
  expect(no.stderr).toContain("2 entries will be permanently deleted.");
  const yes = await memory(["purge", "--before", "2026-01-01", "--yes"], answers);
  expect(yes.requests.slice(2)).toEqual(['DELETE /api/v1/logs/a {"id":"a"}', 'DELETE /api/v1/logs/b {"id":"b"}']);
  expect(yes).toMatchObject({ code: 0, stdout: "Deleted 1 entry with 4 facts.\n" });
  expect(yes.stderr).toContain("not erased");
  const all = await memory(["purge", "--all", "--yes", "--json"], answers);
  expect(JSON.parse(all.stdout)).toEqual({ deleted: 1 });
  expect(all.requests).toHaveLength(5);
});

test("purge deletes a whole session, and names missing options", async () => {
  const message = "Deleted 1 log entry of the session.";
  const body = { success: true, message, deleted: { logs: 1, episodes: 1, statements: 0, entities: 0, facts: 0 } };
  const answers = {
    [`GET /api/v1/logs?sessionId=${sessionId}&limit=200`]: { body: { logs: [entry()], nextCursor: null } },
    [`DELETE /api/v1/logs?sessionId=${sessionId}&confirm=true`]: { body },
  };
  const run = await memory(["purge", "--session", sessionId, "--yes"], answers);
  expect(run).toMatchObject({ code: 0, stdout: `${message}\n`, requests: Object.keys(answers) });
  const no = await memory(["purge", "--session", sessionId], answers, { interactive: true, stdin: "\n" });
  expect(no.stderr).toContain(`1 entry of session ${sessionId} will be permanently deleted.`);
  for (const wrong of [[], ["--all", "--session", "x"], ["--all"], ["--before", "yesterday", "--yes"]]) {
    expect(await memory(["purge", ...wrong], answers), wrong.join(" ")).toMatchObject({ code: 2, requests: [] });
  }
});

test("`postern logs` still works, and prints its new name on standard error", async () => {
  const answers = { "GET /api/v1/logs": { body: { logs: [entry()], nextCursor: null } } };
  const now = await memory(["list", "--json"], answers);
  const former = await run(["logs", "list", "--json"], answers);
  expect(former).toEqual({
    ...now,
    stderr: "`postern logs` is now `postern memory`. The next version removes the old name.\n",
  });
  expect((await runCommand(["help", "logs"])).stdout).toMatch(/^Usage: postern memory /);
  expect((await runCommand(["--help"])).stdout).not.toMatch(/^ {2}logs/m);
});

test("help has examples, and without a gateway every command has the same exit code", async () => {
  for (const command of ["list", "show", "search", "facts", "add", "record", "delete", "purge"]) {
    const { code, stdout } = await runCommand(["memory", command, "--help"]);
    expect([code, stdout], command).toEqual([0, expect.stringContaining(`$ postern memory ${command}`)]);
  }
  const socketPath = join(await makeTempFolder(), "none.sock");
  const { code } = await runCommand(["memory", "list"], { ports: { socketPath: async () => socketPath } });
  expect(code).toBe(3);
});
