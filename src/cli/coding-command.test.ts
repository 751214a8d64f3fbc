import { afterEach, expect, test } from "vitest";
import { type CliRun, runCommand } from "../../test/support/run-cli.ts";
import {
  askOutput,
  pendingPermission,
  problem,
  readOutput,
  type ScriptedGateway,
  sessionSummary,
  startScriptedGateway,
  turn,
} from "../../test/support/scripted-gateway.ts";
import type { PendingPermission } from "../wire/coding.ts";

let gateway: ScriptedGateway | undefined;

afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});

async function coding(
  script: Parameters<typeof startScriptedGateway>[0],
  argv: readonly string[],
  options: Parameters<typeof runCommand>[1] = {},
): Promise<CliRun> {
  gateway = await startScriptedGateway(script);
  const { socketPath } = gateway;
  return runCommand(["coding", ...argv], { ports: { socketPath: () => Promise.resolve(socketPath) }, ...options });
}

test("ask waits for the turn and prints only the agent's answer on standard output", async () => {
  const run = await coding({ coding_ask: [{ body: askOutput() }] }, [
    "ask",
    "hi",
    "--dir",
    "sub",
    "--agent",
    "agent_a",
  ]);
  expect(run).toMatchObject({ code: 0, stdout: "hello\n" });
  expect(run.stderr).toContain("0b0c0000-0000-4000-8000-000000000001 · claude-code · idle");
  expect(gateway?.requests).toEqual([
    { path: "/api/coding/coding_ask", body: { prompt: "hi", dir: "/srv/code/sub", waitMs: 600_000, agent: "agent_a" } },
  ]);
});

test("ask --worktree leaves the branch and the base to the gateway, unless they are given", async () => {
  for (const [options, worktree] of [
    [[], {}],
    [["--branch", "fix"], { branch: "fix" }],
    [["--base", "v1", "--branch", "fix"], { branch: "fix", baseBranch: "v1" }],
  ] as const) {
    const run = await coding({ coding_ask: [{ body: askOutput() }] }, ["ask", "hi", "--worktree", ...options]);
    expect(run).toMatchObject({ code: 0 });
    expect(gateway?.requests[0]?.body).toEqual({ prompt: "hi", dir: "/srv/code", waitMs: 600_000, worktree });
    await gateway?.close();
  }
});

test("ask keeps reading when the turn outlasts one wait, and prints each turn once", async () => {
  const working = { activity: "working" as const };
  const run = await coding(
    {
      coding_ask: [{ body: askOutput({ ...working, turns: [turn(4, "hi"), turn(5, "hel")] }) }],
      coding_read_session: [
        { body: readOutput({ ...working, turns: [turn(5, "hello")], nextAfter: 4 }) },
        { body: readOutput({ turns: [turn(5, "hello world")], nextAfter: 5 }) },
      ],
    },
    ["ask", "hi"],
  );
  expect(run).toMatchObject({ code: 0, stdout: "hello world\n" });
  expect(gateway?.requests.slice(1).map(({ body }) => body)).toMatchObject([{ after: 4 }, { after: 4 }]);
});

test("ask continues a session in its folder, wherever the command runs", async () => {
  const run = await coding(
    { coding_read_session: [{ body: readOutput({ dir: "/srv/other" }) }], coding_ask: [{ body: askOutput() }] },
    ["ask", "hi", "--session", "0b0c0000-0000-4000-8000-000000000001"],
  );
  expect(run).toMatchObject({ code: 0, stdout: "hello\n" });
  expect(gateway?.requests).toMatchObject([
    { body: { sessionId: "0b0c0000-0000-4000-8000-000000000001" } },
    { body: { sessionId: "0b0c0000-0000-4000-8000-000000000001", dir: "/srv/other" } },
  ]);
});

test("ask shows a dialog in the agent's terminal with its choices, and exits with 1; read shows it too", async () => {
  const dialog: PendingPermission = {
    permissionId: "d1",
    kind: "dialog",
    tool: "Trust this folder?",
    input: {},
    askedAt: "2025-01-01T00:00:00.000Z",
    answerable: true,
    choices: [
      { choiceId: "1", label: "No, exit" },
      { choiceId: "2", label: "Yes" },
    ],
  };
  const shown = { activity: "needs_attention", screen: "Trust this?\n\u001b[31mNo", permissions: [dialog] } as const;
  const answer = askOutput({ ...shown, permissions: [...shown.permissions], delivered: null, turns: [] });
  const asked = await coding({ coding_ask: [{ body: answer }] }, ["ask", "hi"]);
  expect(asked).toMatchObject({ code: 1, stdout: "" });
  expect(asked.stderr).toContain("  │ Trust this?\n  │ No\n");
  expect(asked.stderr).toContain("answer 0b0c0000-0000-4000-8000-000000000001 --choice 2  # Yes");
  expect(asked.stderr).toContain("`postern attach 0b0c0000-0000-4000-8000-000000000001`");
  const body = readOutput({ ...shown, permissions: [], turns: [] });
  const read = await coding({ coding_read_session: [{ body }] }, ["read", "0b0c0000-0000-4000-8000-000000000001"]);
  expect(read).toMatchObject({ code: 0 });
  expect(read.stdout).toContain("  │ Trust this?");
  expect(read.stdout).toContain("postern attach");
});

test("ask with --wait 0 does not wait and prints how to read the answer", async () => {
  const answer = askOutput({ activity: "starting", turns: [] });
  const run = await coding({ coding_ask: [{ body: answer }] }, ["ask", "--wait", "0", "hi"]);
  expect(run).toMatchObject({ code: 0, stdout: "" });
  expect(run.stderr).toContain("postern coding read 0b0c0000");
  expect(gateway?.requests).toMatchObject([{ body: { waitMs: 0 } }]);
});

test("ask shows that it is waiting until the answer arrives", async () => {
  let beats = 0;
  let stopped = false;
  const clock = {
    now: () => Date.now(),
    sleep: () => Promise.resolve(),
    after(_delayMs: number, beat: () => void) {
      beats += 1;
      if (beats <= 2) return clearLater(beat);
      return () => {
        stopped = true;
      };
    },
  };
  const run = await coding({ coding_ask: [{ body: askOutput(), delayMs: 100 }] }, ["ask", "hi"], { clock });
  expect(run.stderr.match(/Waiting for the agent/g)).toHaveLength(2);
  expect(stopped).toBe(true);
});

function clearLater(beat: () => void): () => void {
  const timer = setTimeout(beat, 1);
  return () => clearTimeout(timer);
}

test("ask takes the prompt from standard input, byte for byte", async () => {
  const prompt = '-x\n`a` "b" 🙂\t';
  const bytes = Buffer.from(prompt);
  const stdin = (async function* () {
    yield bytes.subarray(0, 10); // in the middle of the emoji
    yield bytes.subarray(10);
  })();
  await coding({ coding_ask: [{ body: askOutput() }] }, ["ask", "-"], { stdin });
  expect(gateway?.requests).toMatchObject([{ body: { prompt } }]);
});

test("ask takes a prompt with a leading dash after --", async () => {
  await coding({ coding_ask: [{ body: askOutput() }] }, ["ask", "--wait", "0", "--", "--json"]);
  expect(gateway?.requests).toMatchObject([{ body: { prompt: "--json" } }]);
});

test("ask --json prints the whole answer", async () => {
  const run = await coding({ coding_ask: [{ body: askOutput() }] }, ["ask", "hi", "--json"]);
  expect(JSON.parse(run.stdout)).toEqual(askOutput());
});

test.each([
  ["failed", askOutput({ status: "failed", activity: null, exitCode: 127, turns: [] }), "agent_failed"],
  ["lost prompt", askOutput({ delivered: false }), "agent_failed"],
  [
    "open permission",
    askOutput({
      activity: "needs_permission",
      permissions: [pendingPermission()],
    }),
    "agent_needs_you: Session 0b0c0000-0000-4000-8000-000000000001 is waiting for permission: Bash",
  ],
  [
    "question of the agent",
    askOutput({ activity: "needs_answer", permissions: [pendingPermission({ kind: "question" })] }),
    "agent_needs_you: Session 0b0c0000-0000-4000-8000-000000000001 is waiting for an answer: Bash",
  ],
  [
    "permission that waits in the terminal",
    askOutput({ activity: "needs_permission", permissions: [pendingPermission({ answerable: false })] }),
    "agent_needs_you: Session 0b0c0000-0000-4000-8000-000000000001 is waiting for permission in its terminal",
  ],
  [
    "turn that its vendor refused",
    askOutput({ turns: [turn(0, "hi")], turnFailure: "Your credit\nis too low." }),
    "agent_failed: claude-code did not answer: Your credit is too low.",
  ],
  ["missing login", askOutput({ activity: "needs_login" }), "agent_needs_you"],
])("ask ends with 1 on a %s", async (_name, answer, message) => {
  const run = await coding({ coding_ask: [{ body: answer }] }, ["ask", "hi"]);
  expect(run.code).toBe(1);
  expect(run.stderr).toContain(`postern: ${message}`);
});

test("ask prints warnings about the session", async () => {
  const answer = askOutput({ turns: [turn(0, "hi")], warnings: ["Its sandbox\nis broken. To fix it: sudo repair"] });
  const run = await coding({ coding_ask: [{ body: answer }] }, ["ask", "hi"]);
  expect(run.stderr).toContain("Warning: claude-code: Its sandbox is broken. To fix it: sudo repair\n");
  expect(run.code).toBe(0);
});

test("control sequences in a transcript cannot reach the terminal", async () => {
  const evil = "a\u001b]52;c;ZXZpbA==\u0007b\u009b2Jc\rd";
  const body = readOutput({ turns: [turn(0, evil)], dir: `/srv/${evil}`, title: evil });
  const run = await coding({ coding_read_session: [{ body }] }, ["read", "x"]);
  expect(run.stdout + run.stderr).not.toMatch(/[\u001b\u0007\u009b\r]/);
});

test("read prints turns with one line for each tool call", async () => {
  const call = {
    type: "tool_call",
    id: "1",
    name: "Bash",
    input: { command: "ls" },
    result: { ok: true, text: "x", truncated: false },
  } as const;
  const assistant = { ...turn(1, "done"), blocks: [call, { type: "text", text: "done" } as const] };
  const body = readOutput({ turns: [turn(0, "list"), assistant] });
  const run = await coding({ coding_read_session: [{ body }] }, ["read", "x", "--last", "2", "--wait", "3"]);
  expect(run.stdout).toBe(
    '── 0 user · 2025-01-01T00:00:00.000Z\nlist\n\n── 1 assistant · 2025-01-01T00:00:00.000Z\n[Bash {"command":"ls"}] ok\ndone\n',
  );
  expect(gateway?.requests.map(({ body }) => body)).toEqual([{ sessionId: "x", last: 2 }]);
});

test("read --wait waits only while the agent works", async () => {
  const idle = readOutput({ activity: "idle", turns: [] });
  const read = ["read", "x", "--wait", "600"];
  expect(await coding({ coding_read_session: [{ body: idle }] }, read)).toMatchObject({ code: 0 });
  expect(gateway?.requests.map(({ body }) => body)).toEqual([{ sessionId: "x" }]);
  await gateway?.close();
  const working = readOutput({ activity: "working", turns: [turn(0, "hi"), turn(1, "do")], nextAfter: 0 });
  const grown = readOutput({ turns: [turn(1, "done")], nextAfter: 1 });
  const done = readOutput({ turns: [turn(0, "hi"), turn(1, "done")], nextAfter: 1 });
  const script = { coding_read_session: [{ body: working }, { body: grown }, { body: done }] } as const;
  const run = await coding(script, [...read, "--last", "2"]);
  expect(run.stdout).toContain("hi\n\n── 1 assistant · 2025-01-01T00:00:00.000Z\ndone");
  const whole = { sessionId: "x", last: 2 };
  const waiting = { sessionId: "x", after: 0, last: 1, activity: "working", waitMs: 600_000 };
  expect(gateway?.requests.map(({ body }) => body)).toEqual([whole, waiting, whole]);
});

test("close, close-all and agents call their tools", async () => {
  const closed = { ...sessionSummary({ status: "completed" }), worktree: null };
  const entry = {
    name: "codex",
    aliases: ["agent_b"],
    isDefault: true,
    binary: "/bin/codex",
    version: "1",
    login: "unknown",
  };
  const script = {
    coding_close_session: [{ body: closed }],
    coding_close_all: [
      { body: { closed: [closed], failed: [{ sessionId: "y", code: "session_busy", detail: "It is busy." }] } },
    ],
    coding_list_agents: [{ body: { agents: [entry], availableAgents: [], default: "codex" } }],
  } as const;
  expect(await coding(script, ["close", "x", "--discard-worktree"])).toMatchObject({ code: 0 });
  expect(gateway?.requests).toMatchObject([{ body: { sessionId: "x", discardWorktree: true } }]);
  await gateway?.close();
  expect(await coding(script, ["close-all"])).toMatchObject({
    code: 1,
    stdout: "Closed 1 session.\n",
    stderr: "postern: session_busy: 1 session could not be closed: y: It is busy.\n",
  });
  await gateway?.close();
  expect((await coding(script, ["agents"])).stdout).toMatch(/codex +default +unknown +1 +\/bin\/codex/);
});

test("the gateway's problem is one line with its code and its fields", async () => {
  const body = problem(400, "invalid_request", { errors: [{ path: "dir", message: "too\nlong" }] });
  const run = await coding({ coding_ask: [{ status: 400, body }] }, ["ask", "hi"]);
  expect(run).toMatchObject({ code: 1, stderr: "postern: invalid_request: This is invalid_request. dir: too long\n" });
});

test("a field that the problem's detail names is printed once", async () => {
  const errors = [
    { path: "dir", message: "Too long" },
    { path: "model", message: "No text" },
  ];
  const body = problem(400, "invalid_request", { detail: "It does not fit. dir: Too long (and 1 more)", errors });
  const run = await coding({ coding_ask: [{ status: 400, body }] }, ["ask", "hi"]);
  expect(run.stderr).toBe("postern: invalid_request: It does not fit. dir: Too long (and 1 more) model: No text\n");
});

test("with --json the problem is JSON too", async () => {
  const run = await coding({ coding_read_session: [{ status: 404, body: problem(404, "session_not_found") }] }, [
    "read",
    "x",
    "--json",
  ]);
  expect(run).toMatchObject({ code: 1, stdout: "" });
  expect(JSON.parse(run.stderr)).toEqual({
    code: "session_not_found",
    detail: "This is session_not_found.",
    status: 404,
  });
});

test("an answer of an unexpected shape is an error, without partial output", async () => {
  const run = await coding({ coding_read_session: [{ body: { turns: "none" } }] }, ["read", "x"]);
  expect(run).toMatchObject({ code: 1, stdout: "" });
  expect(run.stderr).toContain(
    "postern: internal_error: The gateway's answer to POST /api/coding/coding_read_session does not match",
  );
});

test("without a gateway the exit code is 3 and the message names postern serve", async () => {
  const run = await runCommand(["coding", "agents"], {
    ports: { socketPath: () => Promise.resolve("/nonexistent/gateway.sock") },
  });
  expect(run.code).toBe(3);
  expect(run.stderr).toMatch(/^postern: gateway_not_running: No gateway is listening on .*`postern serve`\.\n$/);
});

test("a gateway that exits before it answers is reported as stopped", async () => {
  const started = await startScriptedGateway({ coding_list_agents: [{ body: {}, delayMs: 10_000 }] });
  const running = runCommand(["coding", "agents"], {
    ports: { socketPath: () => Promise.resolve(started.socketPath) },
  });
  await expect.poll(() => started.requests.length).toBe(1);
  await started.close();
  expect(await running).toMatchObject({ code: 3, stderr: expect.stringContaining("stopped before it answered") });
});
