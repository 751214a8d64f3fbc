import { readFile, rm, stat } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { callPermissionHook, type RunningHook } from "../../test/support/permission-hook.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { makeTestFolder } from "../../test/support/test-folder.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { permissionIdOf } from "./hook-reports.ts";
import { openPermissionHooks, type PermissionHooks } from "./permission-hooks.ts";

const patience = { timeout: 15_000, interval: 20 };
const allow = { decision: { behavior: "allow" } };
/** Four times as fast. At a higher speed, a busy machine would miss it. */
const hurried: Clock = { ...systemClock, after: (delayMs, callback) => systemClock.after(delayMs / 4, callback) };

// It takes ten seconds, so it is started before the other tests and checked after them.
let lonely: RunningHook | undefined;
let lonelySince = 0;
beforeAll(async () => {
  const folder = makeTestFolder("lonely");
  lonelySince = performance.now();
  lonely = callPermissionHook(folder, { socketPath: join(folder, "none.sock"), input: {} });
  return async () => {
    lonely?.end();
    await rm(folder, { recursive: true, force: true });
  };
});

async function open(folder: string, clock: Clock = systemClock): Promise<PermissionHooks> {
  const hooks = await openPermissionHooks({ socketPath: join(folder, "hooks.sock"), clock, log: silentLog });
  onTestFinished(() => hooks.close().catch(() => undefined)); // closed by the test already
  return hooks;
}

async function linesOf(folder: string): Promise<readonly string[]> {
  const text = await readFile(join(folder, "inbox"), "utf8").catch(() => "");
  return text.split("\n").slice(0, -1);
}

/** The id of the question in this folder's inbox, as computed by the gateway. */
async function askedIn(folder: string): Promise<string> {
  await expect.poll(() => linesOf(folder), patience).toHaveLength(1);
  const [line = ""] = await linesOf(folder);
  return permissionIdOf(line);
}

function call(hooks: PermissionHooks, folder: string, input: unknown): RunningHook {
  const hook = callPermissionHook(folder, { socketPath: hooks.socketPath, input });
  onTestFinished(hook.end);
  return hook;
}

/** A hook that has connected and is waiting. */
async function waitingHook(hooks: PermissionHooks, folder: string, input: unknown = { file_path: "/a" }) {
  const hook = call(hooks, folder, input);
  const permissionId = await askedIn(folder);
  hooks.expect(permissionId, () => undefined);
  await expect.poll(() => hooks.isWaiting(permissionId), patience).toBe(true);
  return { hook, permissionId };
}

/** Connects and sends this; resolves with the whole answer when the connection has ended. */
function say(socketPath: string, words: string | Buffer): { socket: Socket; heard: Promise<string> } {
  const socket = connect(socketPath);
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  socket.on("error", () => undefined); // it may be cut off while it is still sending
  socket.write(words);
  onTestFinished(() => void socket.destroy());
  return { socket, heard: new Promise((resolve) => socket.once("close", () => resolve(text))) };
}

test("a hook waits for the decision, passes it on, and notes that it did", async () => {
  const folder = await makeTempFolder();
  const hooks = await open(folder);
  expect((await stat(hooks.socketPath)).mode & 0o777).toBe(0o600);
  const { hook, permissionId } = await waitingHook(hooks, folder);
  expect(await hooks.decide(permissionId, { decision: { behavior: "deny", message: "no 🦊" } })).toBe(true);
  expect(JSON.parse(await hook.said)).toEqual({
    hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior: "deny", message: "no 🦊" } },
  });
  expect(await hook.exitCode).toBe(0);
  const [, note = ""] = await linesOf(folder);
  expect(JSON.parse(note)).toEqual({ at: expect.any(Number), permissionId, behavior: "deny" });
});

test("a decision that is on its way is confirmed, also when the agent's report of its answer is read first", async () => {
  const hooks = await open(await makeTempFolder());
  const permissionId = "a".repeat(32);
  const { socket, heard } = say(hooks.socketPath, `${JSON.stringify({ permissionId })}\n`);
  await expect.poll(() => hooks.isWaiting(permissionId), patience).toBe(true);
  const decided = hooks.decide(permissionId, allow);
  hooks.forget(permissionId);
  await new Promise((resolve) => socket.once("data", resolve));
  socket.write(`${JSON.stringify({ taken: true })}\n`);
  expect(await decided).toBe(true);
  expect(await heard).toBe(`${JSON.stringify(allow)}\n`);
});

test("what is laid over the call's input is laid over all of it, however long", async () => {
  const folder = await makeTempFolder();
  const hooks = await open(folder);
  const input = { content: "x".repeat(100_000), other: [1] };
  const { hook, permissionId } = await waitingHook(hooks, folder, input);
  await hooks.decide(permissionId, { ...allow, input: { answers: { q: "a" } } });
  expect(JSON.parse(await hook.said)).toMatchObject({
    hookSpecificOutput: { decision: { behavior: "allow", updatedInput: { ...input, answers: { q: "a" } } } },
  });
});

test("two equal calls are two questions", async () => {
  const folder = await makeTempFolder();
  const hooks = await open(folder);
  const one = call(hooks, folder, {});
  const other = call(hooks, folder, {});
  await expect.poll(() => linesOf(folder), patience).toHaveLength(2);
  const [first = "", second = ""] = (await linesOf(folder)).map(permissionIdOf);
  expect(first).not.toBe(second);
  for (const id of [first, second]) {
    hooks.expect(id, () => undefined);
    await expect.poll(() => hooks.isWaiting(id), patience).toBe(true);
  }
  await hooks.decide(first, allow);
  hooks.forget(second);
  const said = [await one.said, await other.said];
  expect(said.filter((words) => words.includes("allow"))).toHaveLength(1);
  expect(said).toContain("");
});

test("a hook that is let go says nothing, and so does one that comes after", async () => {
  const folder = await makeTempFolder();
  const hooks = await open(folder);
  const { hook, permissionId } = await waitingHook(hooks, folder);
  hooks.forget(permissionId);
  expect([await hook.said, await hook.exitCode]).toEqual(["", 0]);
  expect(hooks.isWaiting(permissionId)).toBe(false);
  expect(await say(hooks.socketPath, `${JSON.stringify({ permissionId })}\n`).heard).toBe('{"decision":null}\n');
  expect(await hooks.decide(permissionId, allow)).toBe(false);
});

test("a hook finds the gateway that comes after the one that it waited at", async () => {
  const folder = await makeTempFolder();
  const before = await open(folder);
  const { hook, permissionId } = await waitingHook(before, folder);
  await before.close();
  const after = await open(folder);
  after.expect(permissionId, () => undefined);
  await expect.poll(() => after.isWaiting(permissionId), patience).toBe(true);
  expect(await after.decide(permissionId, allow)).toBe(true);
  expect(await hook.said).toContain('"allow"');
});

test("nothing that is sent to the socket decides, whatever it is", async () => {
  const folder = await makeTempFolder();
  const hooks = await open(folder);
  const { hook, permissionId } = await waitingHook(hooks, folder);
  const forged = [
    { permissionId, decision: { behavior: "allow" } },
    { permissionId, behavior: "allow" },
    { taken: true },
    { decide: permissionId, decision: allow },
    [permissionId],
    null,
    "allow",
  ];
  for (const words of forged) expect(await say(hooks.socketPath, `${JSON.stringify(words)}\n`).heard).toBe("");
  for (const words of ["\n", "no json\n", "x".repeat(5_000), Buffer.alloc(200_000, 0xff)]) {
    expect(await say(hooks.socketPath, words).heard).toBe("");
  }
  const after = say(hooks.socketPath, `${JSON.stringify({ permissionId })}\n${JSON.stringify(allow)}\n`);
  await expect.poll(() => hooks.isWaiting(permissionId)).toBe(true);
  hooks.forget(permissionId);
  expect(await after.heard).toBe('{"decision":null}\n');
  expect(await hook.said).toBe("");
});

test("who only listens takes no decision away from the hook, and listeners are few", async () => {
  const folder = await makeTempFolder();
  const hooks = await open(folder);
  const { hook, permissionId } = await waitingHook(hooks, folder);
  const asking = `${JSON.stringify({ permissionId })}\n`;
  const listeners = Array.from({ length: 10 }, () => say(hooks.socketPath, asking));
  const cutOff = await Promise.all(listeners.slice(3).map(({ heard }) => heard));
  expect(new Set(cutOff)).toEqual(new Set([""]));
  expect(await hooks.decide(permissionId, allow)).toBe(true);
  expect(await hook.said).toContain('"allow"');
}, 20_000);

test("connections that send nothing, or an unknown permission, end soon and are few", async () => {
  const folder = await makeTempFolder();
  const hooks = await open(folder, hurried);
  expect(await say(hooks.socketPath, "").heard).toBe("");
  const ask = (number: number): string => `${JSON.stringify({ permissionId: String(number).padStart(32, "0") })}\n`;
  const strangers = Array.from({ length: 80 }, (_, number) => say(hooks.socketPath, ask(number)));
  const answers = await Promise.all(strangers.map(({ heard }) => heard));
  expect(new Set(answers)).toEqual(new Set(['{"decision":null}\n']));
  const { hook, permissionId } = await waitingHook(hooks, folder);
  expect(await hooks.decide(permissionId, allow)).toBe(true);
  expect(await hook.said).toContain('"allow"');
});

test("a hook without a gateway says nothing, after some seconds", async () => {
  expect([await lonely?.said, await lonely?.exitCode]).toEqual(["", 0]);
  expect(performance.now() - lonelySince).toBeGreaterThan(5_000);
}, 30_000);

test("the socket is made again when it was removed, and hooks that waited are answered", async () => {
  const folder = await makeTempFolder();
  const hooks = await open(folder);
  const { hook, permissionId } = await waitingHook(hooks, folder);
  await rm(hooks.socketPath);
  await expect
    .poll(
      () =>
        stat(hooks.socketPath).then(
          ({ mode }) => mode & 0o777,
          () => null,
        ),
      patience,
    )
    .toBe(0o600);
  expect(hooks.isWaiting(permissionId)).toBe(true);
  expect(await hooks.decide(permissionId, allow)).toBe(true);
  expect(await hook.exitCode).toBe(0);
  const other = await makeTempFolder();
  const later = await waitingHook(hooks, other);
  expect(await hooks.decide(later.permissionId, allow)).toBe(true);
});
