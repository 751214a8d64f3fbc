import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { newUuid } from "../../core/ids.ts";
import { startTimeOf } from "../../platform/processes.ts";
import { claudeCode } from "./claude-code.ts";

const myTicks = startTimeOf(process.pid).split(".").at(-1) ?? "";

async function makeState(states: readonly Record<string, unknown>[]): Promise<Record<string, string>> {
  const configDir = await makeTempFolder();
  await mkdir(join(configDir, "sessions"));
  for (const state of states)
    await writeFile(join(configDir, "sessions", `${String(state["pid"])}.json`), JSON.stringify(state));
  return { CLAUDE_CONFIG_DIR: configDir };
}

test("a live process that runs the session is found, with its activity", async () => {
  const sessionId = newUuid();
  const env = await makeState([{ pid: process.pid, sessionId, procStart: myTicks, status: "busy", more: 1 }]);
  expect(await claudeCode.externalHolder(sessionId, env)).toEqual({ pid: process.pid, activity: "working" });
  expect(await claudeCode.liveState(sessionId, { pid: process.pid, env })).toEqual({
    activity: "working",
    since: null,
    hooked: true,
    inBackground: false,
  });
  expect(await claudeCode.discoverSessionId({ pid: process.pid, env })).toBe(sessionId);
});

test.each([
  ["busy", undefined, "working"],
  ["idle", undefined, "idle"],
  ["shell", undefined, "idle"],
  ["waiting", "permission prompt", "needs_permission"],
  ["waiting", "input needed", "needs_answer"],
  ["waiting", "dialog open", "needs_answer"],
  ["something new", undefined, null],
])("the status %s for %s is %s", async (status, waitingFor, activity) => {
  const sessionId = newUuid();
  const env = await makeState([
    { pid: process.pid, sessionId, procStart: myTicks, status, waitingFor, statusUpdatedAt: 7 },
  ]);
  const state = { activity, since: 7, hooked: waitingFor !== "dialog open", inBackground: status === "shell" };
  expect(await claudeCode.liveState(sessionId, { pid: process.pid, env })).toEqual(activity === null ? null : state);
});

test("another session, an exited process, and a later process with the same pid are not holders", async () => {
  const sessionId = newUuid();
  const env = await makeState([
    { pid: process.pid, sessionId: newUuid(), procStart: myTicks },
    { pid: 2 ** 22 - 1, sessionId, procStart: "1" },
    { pid: process.ppid, sessionId, procStart: "1" },
  ]);
  expect(await claudeCode.externalHolder(sessionId, env)).toBeNull();
  expect(await claudeCode.liveState(sessionId, { pid: process.ppid, env })).toBeNull();
});

test("malformed, partial and missing files are ignored", async () => {
  const sessionId = newUuid();
  const env = await makeState([]);
  const folder = join(env["CLAUDE_CONFIG_DIR"] ?? "", "sessions");
  await writeFile(join(folder, `${process.pid}.json`), `{"pid":${process.pid},"sessionId":"${sessionId}`);
  await writeFile(join(folder, "1.json"), JSON.stringify({ pid: process.pid, sessionId }));
  await writeFile(join(folder, "2.json"), "[]");
  await writeFile(join(folder, "1.abc.key"), "{}");
  expect(await claudeCode.externalHolder(sessionId, env)).toBeNull();
  expect(await claudeCode.externalHolder(sessionId, { CLAUDE_CONFIG_DIR: "/nowhere" })).toBeNull();
});

test("all sessions of live processes are listed, and listed again after a quarter of a second", async () => {
  const [mine, gone] = [newUuid(), newUuid()];
  const env = await makeState([
    { pid: process.pid, sessionId: mine, procStart: myTicks, status: "waiting" },
    { pid: 2 ** 22 - 1, sessionId: gone, procStart: "1", status: "busy" },
  ]);
  expect([...(await claudeCode.externalSessions(env))]).toEqual([
    [mine, { pid: process.pid, activity: "needs_answer" }],
  ]);
  const state = { pid: process.pid, sessionId: mine, procStart: myTicks, status: "idle" };
  await writeFile(join(env["CLAUDE_CONFIG_DIR"] ?? "", "sessions", `${process.pid}.json`), JSON.stringify(state));
  await expect
    .poll(async () => (await claudeCode.externalSessions(env)).get(mine)?.activity, { timeout: 2_000, interval: 20 })
    .toBe("idle");
  expect((await claudeCode.externalSessions({ CLAUDE_CONFIG_DIR: "/nowhere" })).size).toBe(0);
});
