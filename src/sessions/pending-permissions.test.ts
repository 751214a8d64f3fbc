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
import { permissionIdOf } from "./hook-reports.ts";
import { PendingPermissions } from "./pending-permissions.ts";
import { openPermissionHooks } from "./permission-hooks.ts";

const patience = { timeout: 15_000, interval: 20 };

/** Pending permissions, and the real hook script that connects to them. */
async function setUp() {
  const folder = await makeTempFolder();
  const socketPath = join(folder, "hooks.sock");
  const clock = systemClock;
  const hooks = await openPermissionHooks({ socketPath, clock, log: silentLog });
  onTestFinished(() => hooks.close());
  const pendingPermissions = new PendingPermissions({
    hooks,
    clock,
    changes: createChangeSignal(clock),
    limitMs: 600_000,
  });
  onTestFinished(() => pendingPermissions.close());
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
  return { pendingPermissions, hooks, ask };
}

test("a waiting hook is released when questions go to the terminal, and stays released", async () => {
  const { pendingPermissions, hooks, ask } = await setUp();
  const { hook, asked, permissionId } = await ask();
  pendingPermissions.update([asked]);
  await expect.poll(() => hooks.isWaiting(permissionId), patience).toBe(true);
  expect(pendingPermissions.isAnswerable(permissionId)).toBe(true);
  pendingPermissions.askInTerminal(true);
  expect(pendingPermissions.isAnswerable(permissionId)).toBe(false);
  expect(await hook.said).toBe("");
  expect(await hook.exitCode).toBe(0);
  pendingPermissions.askInTerminal(false);
  pendingPermissions.update([asked]);
  expect(pendingPermissions.isAnswerable(permissionId)).toBe(false);
  expect(await pendingPermissions.decide(permissionId, { decision: { behavior: "allow" } })).toBe(false);
});

test("hooks that come later are let go as they come, until the last of those who wanted it has left", async () => {
  const { pendingPermissions, hooks, ask } = await setUp();
  pendingPermissions.askInTerminal(true);
  pendingPermissions.askInTerminal(true);
  pendingPermissions.askInTerminal(false);
  const first = await ask();
  pendingPermissions.update([first.asked]);
  expect(pendingPermissions.isAnswerable(first.permissionId)).toBe(false);
  expect(await first.hook.said).toBe("");

  pendingPermissions.askInTerminal(false);
  pendingPermissions.askInTerminal(false); // once too often
  const second = await ask();
  pendingPermissions.update([second.asked]);
  await expect.poll(() => hooks.isWaiting(second.permissionId), patience).toBe(true);
  expect(pendingPermissions.isAnswerable(second.permissionId)).toBe(true);
  expect(await pendingPermissions.decide(second.permissionId, { decision: { behavior: "allow" } })).toBe(true);
  expect(await second.hook.said).toContain('"allow"');
  pendingPermissions.askInTerminal(true);
  const third = await ask();
  pendingPermissions.update([third.asked]);
  expect(await third.hook.said).toBe("");
});
