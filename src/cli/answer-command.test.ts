import { afterEach, expect, test } from "vitest";
import { type CliRun, runCommand } from "../../test/support/run-cli.ts";
import {
  pendingPermission,
  problem,
  readOutput,
  type ScriptedGateway,
  sessionSummary,
  startScriptedGateway,
  turn,
} from "../../test/support/scripted-gateway.ts";
import type { PendingPermission, ReadOutput } from "../wire/coding.ts";

let gateway: ScriptedGateway | undefined;
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});

const sessionId = "0b0c0000-0000-4000-8000-000000000001";
const first = pendingPermission();
const second = pendingPermission({ permissionId: "5f1e0000000000000000000000000002", input: { command: "rm x" } });
const question = pendingPermission({
  kind: "question",
  tool: "AskUserQuestion",
  input: { questions: [{ question: "a=b?" }, { question: "Which way?" }] },
});

/** Runs the command against a session with these pending requests. */
async function answer(permissions: readonly PendingPermission[], ...argv: readonly string[]): Promise<CliRun> {
  gateway = await startScriptedGateway({
    coding_read_session: [{ body: readOutput({ permissions: [...permissions] }) }],
    coding_answer_permission: [{ body: sessionSummary({ activity: "working" }) }],
    coding_interrupt: [{ body: { ...sessionSummary(), interrupted: true } }],
  });
  const { socketPath } = gateway;
  return runCommand(["coding", ...argv], { ports: { socketPath: () => Promise.resolve(socketPath) } });
}

const sent = (): unknown => gateway?.requests.find(({ path }) => path.endsWith("coding_answer_permission"))?.body;

test("a single permission request needs no id", async () => {
  const run = await answer([first], "answer", sessionId, "--allow");
  expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining("working") });
  expect(sent()).toEqual({ sessionId, permissionId: first.permissionId, decision: "allow" });
});

test("with several requests an id is required, and they are listed", async () => {
  const run = await answer([first, second], "answer", sessionId, "--deny");
  expect(run.code).toBe(2);
  expect(run.stderr).toContain(`${first.permissionId} Bash`);
  expect(run.stderr).toContain(`${second.permissionId} Bash`);
  expect(sent()).toBeUndefined();
  await gateway?.close();
  const named = await answer([first, second], "answer", sessionId, second.permissionId, "--deny", "--message", "no");
  expect(named.code).toBe(0);
  expect(sent()).toEqual({ sessionId, permissionId: second.permissionId, decision: "deny", message: "no" });
});

test("without a decision all pending requests are shown", async () => {
  const run = await answer([first, { ...second, answerable: false }], "answer", sessionId);
  expect(run).toMatchObject({ code: 0 });
  expect(run.stdout).toBe(
    `${first.permissionId} Bash {"command":"ls"}\n${second.permissionId} Bash {"command":"rm x"} (answer with \`postern attach\`)\n`,
  );
  expect(sent()).toBeUndefined();
});

test("questions are answered by their text, whatever characters it contains", async () => {
  await answer([question], "answer", sessionId, "--answer", "a=b?=yes=no", "--answer", "Which way?=left");
  const answers = { "a=b?": "yes=no", "Which way?": "left" };
  expect(sent()).toEqual({ sessionId, permissionId: question.permissionId, decision: "allow", answers });
});

test("invalid combinations are refused before anything is decided", async () => {
  for (const argv of [
    ["--allow", "--deny"],
    ["--message", "x"],
    ["--answer", "unasked=1"],
  ]) {
    const run = await answer([question], "answer", sessionId, ...argv);
    expect(run.code, argv.join(" ")).toBe(2);
    expect(sent()).toBeUndefined();
    await gateway?.close();
  }
  expect(await answer([], "answer", sessionId, "--allow")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("permission_gone"),
  });
});

/** Answers while the last turn ends with "I need to look. ", then returns these turns for reads. */
async function answerAndWait(reads: readonly ReadOutput[], ...argv: readonly string[]): Promise<CliRun> {
  const asked = readOutput({
    activity: "needs_permission",
    permissions: [first],
    turns: [turn(1, "I need to look. ")],
    nextAfter: 0,
  });
  gateway = await startScriptedGateway({
    coding_read_session: [{ body: asked }, ...reads.map((body) => ({ body }))],
    coding_answer_permission: [{ body: sessionSummary({ activity: "working" }) }],
  });
  const { socketPath } = gateway;
  return runCommand(["coding", "answer", sessionId, "--allow", ...argv], {
    ports: { socketPath: async () => socketPath },
  });
}

test("--wait prints what the agent says after the answer, until the turn ends", async () => {
  const grown = readOutput({ activity: "working", turns: [turn(1, "I need to look. Two")], nextAfter: 0 });
  const done = readOutput({ turns: [turn(1, "I need to look. Two files.")], nextAfter: 1 });
  const run = await answerAndWait([grown, done], "--wait");
  expect(run).toMatchObject({ code: 0, stdout: "Two files.\n", stderr: expect.stringContaining("claude-code · idle") });
  const follows = { sessionId: sessionSummary().sessionId, after: 0, activity: "working", waitMs: 600_000 };
  expect(gateway?.requests.slice(2).map(({ body }) => body)).toEqual([follows, follows]);
  await gateway?.close();
  const json = await answerAndWait([done], "--wait", "--json");
  expect(JSON.parse(json.stdout)).toMatchObject({ activity: "idle", turns: [{ index: 1, text: "Two files." }] });
});

test("--wait ends with 1 when the agent asks again, and with 0 when the time is up", async () => {
  const again = readOutput({ activity: "needs_permission", permissions: [second], turns: [], nextAfter: 0 });
  const asked = await answerAndWait([again], "--wait");
  expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining("agent_needs_you: Session 0b0c0000") });
  await gateway?.close();
  const late = await answerAndWait([], "--wait", "0");
  expect(late).toMatchObject({ code: 0, stderr: expect.stringContaining("Still running. Follow it with") });
  expect(gateway?.requests).toHaveLength(2);
});

test("a refusal of the gateway is reported", async () => {
  gateway = await startScriptedGateway({
    coding_read_session: [{ body: readOutput({ permissions: [first] }) }],
    coding_answer_permission: [{ status: 404, body: problem(404, "permission_gone") }],
  });
  const { socketPath } = gateway;
  const argv = ["coding", "answer", sessionId, "--allow"];
  const run = await runCommand(argv, { ports: { socketPath: () => Promise.resolve(socketPath) } });
  expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining("postern: permission_gone") });
});

test("interrupt reports what it did", async () => {
  const run = await answer([], "interrupt", sessionId);
  expect(run).toMatchObject({ code: 0, stdout: "Stopped the turn in 0b0c0000-0000-4000-8000-000000000001.\n" });
});
