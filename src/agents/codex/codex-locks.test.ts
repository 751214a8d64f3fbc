import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { newUuid } from "../../core/ids.ts";
import { heldSession, lockedSessions, lockHolder } from "./codex-locks.ts";

/** Starts a process that holds a session's lock file with flock(2), as Codex does, and reports its children. */
async function holdLock(home: string, sessionId: string): Promise<ChildProcess> {
  const folder = join(home, "thread-writer-locks");
  await mkdir(folder, { recursive: true });
  const holder = spawn("flock", [join(folder, `${sessionId}.lock`), "sleep", "60"], {
    stdio: "ignore",
    detached: true,
  });
  onTestFinished(() => {
    if (holder.pid !== undefined) process.kill(-holder.pid, "SIGKILL");
  });
  await expect.poll(() => lockHolder(home, sessionId), { timeout: 10_000 }).not.toBeNull();
  return holder;
}

describe.skipIf(process.platform !== "linux")("locks of Codex", () => {
  test("each of several processes in one folder gets its own session", async () => {
    const home = await makeTempFolder();
    const ids = [newUuid(), newUuid(), newUuid(), newUuid()];
    const holders = await Promise.all(ids.map((id) => holdLock(home, id)));
    expect(await Promise.all(holders.map((holder) => heldSession(home, holder.pid ?? 0)))).toEqual(ids);
    const pids = await Promise.all(ids.map((id) => lockHolder(home, id)));
    expect(pids).toEqual(holders.map((holder) => holder.pid));
    const all = await lockedSessions(home);
    expect(all.size).toBe(ids.length);
    expect(ids.map((id) => all.get(id))).toEqual(holders.map(({ pid }) => ({ pid, activity: null })));
  });

  test("the lock of a child counts as its parent's", async () => {
    const home = await makeTempFolder();
    const id = newUuid();
    await holdLock(home, id);
    // The test's own process is the parent of the holder.
    expect(await heldSession(home, process.pid)).toBe(id);
  });

  test("a file that only exists, or is only open, is not held", async () => {
    const home = await makeTempFolder();
    const id = newUuid();
    await mkdir(join(home, "thread-writer-locks"));
    const path = join(home, "thread-writer-locks", `${id}.lock`);
    await writeFile(path, "");
    const reader = spawn("sh", ["-c", `exec 3<"$1"; echo ready; exec sleep 60`, "sh", path], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void reader.kill("SIGKILL"));
    await new Promise((resolve) => reader.stdout?.once("data", resolve));
    expect(await lockHolder(home, id)).toBeNull();
    expect(await heldSession(home, reader.pid ?? 0)).toBeNull();
  });

  test("a lock in another state folder is another session's", async () => {
    const [home, other] = [await makeTempFolder(), await makeTempFolder()];
    const id = newUuid();
    const holder = await holdLock(other, id);
    expect(await heldSession(home, holder.pid ?? 0)).toBeNull();
    expect(await lockHolder(home, id)).toBeNull();
    expect([...(await lockedSessions(other)).keys()]).toEqual([id]);
    expect((await lockedSessions(home)).size).toBe(0);
  });

  test("a process with two locks has no known session", async () => {
    const home = await makeTempFolder();
    await holdLock(home, newUuid());
    await holdLock(home, newUuid());
    expect(await heldSession(home, process.pid)).toBeNull();
  });

  test("an id that is not a UUID is never looked up", async () => {
    const home = await makeTempFolder();
    expect(await lockHolder(home, "../../etc/passwd")).toBeNull();
    expect(await lockHolder(home, ".coordination")).toBeNull();
  });
});
