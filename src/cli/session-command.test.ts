import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../test/support/run-cli.ts";
import { problem, sessionSummary, startScriptedGateway } from "../../test/support/scripted-gateway.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";

async function* typed(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

const terminal = { terminalId: "t", startedAt: "", beginsAt: "", endsAt: "", live: false, sizeBytes: 1_250_000 };

/** Runs `postern session forget` against a gateway that answers its two routes. */
async function forget(argv: readonly string[], world: { readonly answer?: string; readonly busy?: boolean }) {
  const socketPath = join(await makeTempFolder(), "gateway.sock");
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const busy = world.busy && request.method === "DELETE";
    const counts = {
      recordings: 2,
      recordingBytes: 2_500_000,
      hookInboxes: 1,
      chatMessages: 0,
      attachments: 0,
      kept: 0,
    };
    const message = "The transcript stays\u001b[2J at /code/t.jsonl.\nPending.";
    const gone = { sessionId: "0b0c", ...counts, transcript: "/code/t.jsonl", pending: true, message };
    const body = request.method === "GET" ? { terminals: [terminal, terminal] } : gone;
    response.writeHead(busy ? 409 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(busy ? problem(409, "session_busy") : body));
  });
  await new Promise<void>((listening) => server.listen(socketPath, listening));
  onTestFinished(() => void server.close());
  const run = await runCommand(["session", "forget", "0b/0c-an-id-of-another-form-00", ...argv], {
    ports: { socketPath: async () => socketPath },
    interactive: world.answer !== undefined,
    stdin: typed(world.answer ?? ""),
  });
  return { ...run, requests };
}

const asked = "GET /api/coding/sessions/0b%2F0c-an-id-of-another-form-00/recording/info";
const removed = "DELETE /api/coding/sessions/0b%2F0c-an-id-of-another-form-00/traces";

test("forgetting a session shows what would be removed and asks; only a yes removes it", async () => {
  for (const answer of ["n\n", "\n", "", "yesterday\n"]) {
    expect(await forget([], { answer })).toMatchObject({ code: 0, stdout: "", requests: [asked] });
  }
  const yes = await forget([], { answer: "Y\n" });
  expect(yes).toMatchObject({ code: 0, requests: [asked, removed] });
  expect(yes.stderr).toContain("2 recordings (2.5 MB) of 0b/0c-an-id-of-another-form-00 will be permanently deleted");
  expect(yes.stderr).toContain("with its hook reports, pending chat messages and search index");
  expect(yes.stderr).toContain("Memory is kept (`postern memory purge --session` deletes it). Delete?");
  expect(yes.stdout).toBe("Deleted 2 recordings (2.5 MB) of 0b0c.\nThe transcript stays at /code/t.jsonl. Pending.\n");
});

test("forgetting a session does not ask with --yes, and fails without a terminal", async () => {
  expect(await forget(["--yes"], {})).toMatchObject({ code: 0, requests: [removed] });
  const json = await forget(["--yes", "--json"], {});
  expect(JSON.parse(json.stdout)).toMatchObject({ recordings: 2, pending: true });
  expect(await forget([], {})).toMatchObject({ code: 2, requests: [], stderr: expect.stringContaining("--yes") });
  const busy = await forget(["--yes"], { busy: true });
  expect(busy).toMatchObject({ code: 1, stderr: expect.stringContaining("session_busy") });
});

const keepTool = "coding_keep_session";
const sessionId = "0b0c0000-0000-4000-8000-000000000001";

async function keep(argv: readonly string[], session: Parameters<typeof sessionSummary>[0]) {
  const gateway = await startScriptedGateway({
    [keepTool]: [{ body: sessionSummary({ sessionId, ...session }) }],
  });
  onTestFinished(() => gateway.close());
  const ports = { socketPath: async () => gateway.socketPath };
  const { code, stdout } = await runCommand(["session", "keep", sessionId, ...argv], { ports });
  return { code, stdout, sent: gateway.requests.map(({ body }) => body) };
}

test("keeping an agent running says so, and with --off when it is ended", async () => {
  expect(await keep([], { keepRunning: true })).toEqual({
    code: 0,
    sent: [{ sessionId, keepRunning: true }],
    stdout: `The agent of ${sessionId} (claude-code) keeps running, even when it is idle.\n`,
  });
  const ended = { keepRunning: true, status: "completed", activity: null } as const;
  expect((await keep([], ended)).stdout).toContain("keeps running from its next prompt on");
  expect(await keep(["--off"], { idleEndsAt: "2026-01-01T12:00:00.000Z" })).toMatchObject({
    sent: [{ sessionId, keepRunning: false }],
    stdout: expect.stringContaining("is ended at 2026-01-01T12:00:00.000Z if it stays idle."),
  });
  expect((await keep(["--off"], {})).stdout).toContain("is ended when it has been idle for too long.");
});
