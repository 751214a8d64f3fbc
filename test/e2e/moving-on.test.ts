import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { connectTerminalHost } from "../../src/terminal-host/client.ts";
import { echoOf } from "../model-server/script.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });

const waitMs = 60_000;
const patience = { timeout: 60_000 };

/** What the old session and its successor say once the agent has moved on. */
async function expectMoved(
  { sessionId, pid }: { readonly sessionId: string; readonly pid: number | null },
  turns = ["before", echoOf("before")],
): Promise<string> {
  const { api } = used.gateway;
  await expect.poll(async () => (await api.read(sessionId)).continuedBy, patience).not.toBeNull();
  const old = await api.read(sessionId);
  expect(old).toMatchObject({ status: "completed", pid: null, activity: null });
  expect(old.turns.map(({ text }) => text)).toEqual(turns);
  const next = old.continuedBy ?? "";
  expect(await api.read(next)).toMatchObject({ status: "running", pid });
  return next;
}

/** Sends a command that starts no turn, and waits for the model request that shows that it ran. */
async function runCommand(sessionId: string, prompt: string, asks?: RegExp): Promise<void> {
  const { modelServer, repository: dir } = used.world;
  const before = modelServer.requests.length;
  const sent = await used.gateway.api.ask({ dir, sessionId, prompt, kind: "command", waitMs });
  expect(sent, "it is not confirmed as a prompt").toMatchObject({
    delivered: null,
    deliveryState: "unknown",
    turns: [],
  });
  if (asks === undefined) return;
  await expect.poll(() => modelServer.requests.slice(before).some(({ body }) => asks.test(body)), patience).toBe(true);
}

/** The same process takes a prompt, and answers it. */
async function expectAnswered(sessionId: string, pid: number | null, prompt: string): Promise<void> {
  const { api } = used.gateway;
  const asked = await api.ask({ dir: used.world.repository, sessionId, prompt, waitMs });
  expect(asked).toMatchObject({ sessionId, pid, started: "reconnect" });
  expect(asked.delivered).not.toBe(false);
  const newest = async () => (await api.read(sessionId)).turns.slice(-2).map(({ text }) => text);
  await expect.poll(newest, { ...patience, message: asked.deliveryState }).toEqual([prompt, echoOf(prompt)]);
}

test("claude-code: commands of the list run in the session; after /clear process and lease move to the agent's next session, and the old one can be resumed next to it", async () => {
  const { api } = used.gateway;
  const dir = used.world.repository;
  await mkdir(join(dir, ".claude", "commands"), { recursive: true });
  await writeFile(join(dir, ".claude", "commands", "greet.md"), "say hello to $ARGUMENTS");
  // Without a prompt before it, a command is typed as well.
  const first = await api.ask({ agent: "claude-code", dir, prompt: "/greet Ada", kind: "command", waitMs });
  const { sessionId, pid } = first;
  expect(first.delivered, "it starts a turn").toBe(true);
  const greeted = ["/greet Ada", "hello to Ada"];
  await expect.poll(async () => (await api.read(sessionId)).turns.map(({ text }) => text), patience).toEqual(greeted);
  const again = await api.ask({ dir, sessionId, prompt: "/greet Bob", kind: "command", waitMs });
  expect(again, "it starts a turn").toMatchObject({ sessionId, pid, delivered: true, activity: "idle" });
  expect(again.turns?.map(({ text }) => text)).toEqual(["/greet Bob", "hello to Bob"]);
  // The prompt behind it waits until the summary is written.
  await runCommand(sessionId, "/compact");
  expect((await api.ask({ dir, sessionId, prompt: "after the summary", waitMs })).delivered).toBe(true);
  for (const prompt of ["/model sonnet", "/clear now", "/help", "/exit", "/greet !`id`", "/greet @/etc/hostname"]) {
    const refused = await api.post("/api/coding/coding_ask", { dir, sessionId, prompt, kind: "command" });
    expect(refused, prompt).toMatchObject({ status: 400, body: { code: "command_not_sendable" } });
  }
  const moved = await api.ask({ dir, sessionId, prompt: "/clear", kind: "command" });
  expect(moved.delivered, "a command is not confirmed as a prompt").toBeNull();
  const compacted = ["after the summary", echoOf("after the summary")];
  const next = await expectMoved(first, [...greeted, "/greet Bob", "hello to Bob", ...compacted]);
  const after = await api.ask({ dir, sessionId: next, prompt: "after", waitMs });
  expect(after).toMatchObject({ delivered: true, pid });
  expect((await api.read(next)).turns.map(({ text }) => text)).toEqual(["after", echoOf("after")]);
  const resumed = await api.ask({ dir, sessionId, prompt: "once more", waitMs });
  expect(resumed).toMatchObject({ started: "resumed", sessionId });
  expect(resumed.pid).not.toBe(pid);
  await api.post("/api/coding/coding_close_all", {});
}, 300_000);

test("codex: commands of the list run, and /clear goes on in another session; /new opens a dialog that no prompt is pasted into; once it is answered, what waited goes to the next session", async () => {
  const { api } = used.gateway;
  const dir = used.world.repository;
  const first = await api.ask({ agent: "codex", dir, prompt: "earlier", waitMs });
  const { pid } = first;
  await runCommand(first.sessionId, "/compact", /"compaction_trigger"/);
  await expectAnswered(first.sessionId, pid, "after the summary");
  await runCommand(first.sessionId, "/clear");
  // It has no id before its first prompt.
  const cleared = await api.ask({ dir, sessionId: first.sessionId, prompt: "before", waitMs });
  expect(cleared).toMatchObject({ delivered: true, pid });
  const texts = ["earlier", "after the summary"].flatMap((prompt) => [prompt, echoOf(prompt)]);
  expect(await expectMoved(first, texts)).toBe(cleared.sessionId);
  const { sessionId } = cleared;
  const opens = await api.post("/api/coding/coding_ask", { dir, sessionId, prompt: "/new", kind: "command" });
  expect(opens).toMatchObject({ status: 400, body: { code: "command_not_sendable" } });
  await api.ask({ dir, sessionId, prompt: "/new", allowCommands: true });
  await sleep(2_000);
  const waiting = await api.ask({ dir, sessionId, prompt: "after" });
  expect(waiting).toMatchObject({ delivered: null, queuedPrompts: 1 });
  const host = await connectTerminalHost({
    socketPath: join(used.world.home, "run", "host.sock"),
    stateDir: join(used.world.home, "terminal-host"),
    log: silentLog,
    clock: systemClock,
  });
  const terminal = (await host.list()).find((info) => info.pid === pid);
  await host.write(terminal?.terminalId ?? "", "\r");
  await host.close();
  const next = await expectMoved({ sessionId, pid });
  await expect
    .poll(async () => (await api.read(next)).turns.map(({ text }) => text), { timeout: 10_000 })
    .toEqual(["after", echoOf("after")]);
  await api.post("/api/coding/coding_close_session", { sessionId: next });
});

test.for(["claude-code", "codex"])(
  "%s: spawn gives a terminal without a prompt, the same one again, and resumes it",
  async (agent) => {
    const { api } = used.gateway;
    const dir = used.world.repository;
    const spawned = await api.post<{ sessionId: string; pid: number }>("/api/coding/spawn", {
      agent,
      dir,
      cols: 100,
      rows: 30,
    });
    expect(spawned).toMatchObject({ status: 200, body: { status: "new" } });
    const { pid } = spawned.body;
    // An agent that chooses its own id may report it only now.
    const again = await api.post("/api/coding/spawn", { sessionId: spawned.body.sessionId });
    expect(again.body).toMatchObject({ pid, status: "reconnect" });
    const prompt = "into the waiting terminal";
    const asked = await api.ask({ dir, sessionId: spawned.body.sessionId, prompt, waitMs });
    expect(asked).toMatchObject({ delivered: true, pid });
    const { sessionId } = asked;
    expect(asked.turns?.map(({ text }) => text)).toEqual([
      "into the waiting terminal",
      echoOf("into the waiting terminal"),
    ]);
    await api.post("/api/coding/coding_close_session", { sessionId });
    const resumed = await api.post("/api/coding/spawn", { sessionId });
    expect(resumed).toMatchObject({ status: 200, body: { sessionId, status: "resumed" } });
    await api.post("/api/coding/coding_close_session", { sessionId });
  },
);
