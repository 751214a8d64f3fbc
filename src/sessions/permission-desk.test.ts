import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { callPermissionHook } from "../../test/support/permission-hook.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { permission } from "../../test/support/told-session.ts";
import { createChangeSignal } from "../core/change-signal.ts";
import { isoTime, systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import type { OpenPermission } from "./activity.ts";
import { permissionIdOf } from "./inbox-line.ts";
import { PermissionDesk } from "./permission-desk.ts";
import { openPermissionHooks } from "./permission-hooks.ts";

const patience = { timeout: 15_000, interval: 20 };

/** A desk, and the real hook script that asks at it. */
async function setUp() {
  const folder = await makeTempFolder();
  const socketPath = join(folder, "hooks.sock");
  const clock = systemClock;
  const hooks = await openPermissionHooks({ socketPath, clock, log: silentLog });
  onTestFinished(() => hooks.close());
  const desk = new PermissionDesk({ hooks, clock, changes: createChangeSignal(clock), limitMs: 600_000 });
  onTestFinished(() => desk.close());
  const inbox = async (): Promise<readonly string[]> =>
    (await readFile(join(folder, "inbox"), "utf8").catch(() => "")).split("\n").slice(0, -1);
  async function ask() {
    const before = (await inbox()).length;
    const hook = callPermissionHook(folder, { socketPath, input: { file_path: `/${before}` } });
    onTestFinished(hook.end);
    await expect.poll(async () => (await inbox()).length, patience).toBe(before + 1);
    const asked: OpenPermission = {
      ...permission(permissionIdOf((await inbox())[before] ?? "")),
      askedAt: isoTime(clock.now()),
    };
    return { hook, asked, permissionId: asked.permissionId };
  }
  return { desk, hooks, ask };
}

test("a waiting hook is let go when somebody wants to be asked in the terminal, and stays there", async () => {
  const { desk, hooks, ask } = await setUp();
  const { hook, asked, permissionId } = await ask();
  desk.update([asked]);
  await expect.poll(() => hooks.isWaiting(permissionId), patience).toBe(true);
  expect(desk.isAnswerable(permissionId)).toBe(true);
  desk.askInTerminal(true);
  expect(desk.isAnswerable(permissionId)).toBe(false);
  expect(await hook.said).toBe("");
  expect(await hook.exitCode).toBe(0);
  desk.askInTerminal(false);
  desk.update([asked]);
  expect(desk.isAnswerable(permissionId)).toBe(false);
  expect(await desk.decide(permissionId, { decision: { behavior: "allow" } })).toBe(false);
});

test("hooks that come later are let go as they come, until the last of those who wanted it has left", async () => {
  const { desk, hooks, ask } = await setUp();
  desk.askInTerminal(true);
  desk.askInTerminal(true);
  desk.askInTerminal(false);
  const first = await ask();
  desk.update([first.asked]);
  expect(desk.isAnswerable(first.permissionId)).toBe(false);
  expect(await first.hook.said).toBe("");

  desk.askInTerminal(false);
  desk.askInTerminal(false); // once too often
  const second = await ask();
  desk.update([second.asked]);
  await expect.poll(() => hooks.isWaiting(second.permissionId), patience).toBe(true);
  expect(desk.isAnswerable(second.permissionId)).toBe(true);
  expect(await desk.decide(second.permissionId, { decision: { behavior: "allow" } })).toBe(true);
  expect(await second.hook.said).toContain('"allow"');
  desk.askInTerminal(true);
  const third = await ask();
  desk.update([third.asked]);
  expect(await third.hook.said).toBe("");
});
