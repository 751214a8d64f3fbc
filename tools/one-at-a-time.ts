import { mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** How to wait for another process. */
interface LockOptions {
  readonly deadlineMs: number;
  /** Called once if another process holds the lock. */
  readonly onWait: () => void;
}

/** Runs `work` in one process at a time per `lockFile`; a lock of a dead process is ignored. */
export async function oneAtATime<T>(lockFile: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const unlock = await lock(lockFile, options);
  try {
    return await work();
  } finally {
    await unlock();
  }
}

async function lock(lockFile: string, { deadlineMs, onWait }: LockOptions): Promise<() => Promise<void>> {
  await mkdir(dirname(lockFile), { recursive: true });
  const deadline = Date.now() + deadlineMs;
  for (let waited = false; ; ) {
    try {
      const file = await open(lockFile, "wx");
      await file.writeFile(String(process.pid));
      await file.close();
      return () => rm(lockFile, { force: true });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST") || Date.now() > deadline) throw error;
      if (await isStale(lockFile)) await rm(lockFile, { force: true });
      else if (!waited) {
        onWait();
        waited = true;
      }
    }
    await sleep(500);
  }
}

async function isStale(lockFile: string): Promise<boolean> {
  const pid = Number(await readFile(lockFile, "utf8").catch(() => "")); // gone in the meantime: tried again
  try {
    if (pid > 0) process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
