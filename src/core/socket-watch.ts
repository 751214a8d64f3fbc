import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "./clock.ts";
import { messageOf } from "./errors.ts";
import type { Log } from "./log.ts";

/** Check interval, after which a removed socket is recreated. */
const checkMs = 2_000;

/**
 * Listens again if the file of a Unix socket is removed while its server runs. Another file at the path, such as another process's socket, is
 * left alone. Does nothing if the parent of the socket's folder no longer exists.
 *
 * @param deps `listen` recreates the socket, and fails if its path exists
 * @returns a function that stops watching, and resolves when no `listen` is running
 */
export function watchSocket(
  path: string,
  deps: { readonly clock: Clock; readonly log: Log; readonly listen: () => Promise<void> },
): () => Promise<void> {
  const { clock, log, listen } = deps;
  let isStopped = false;
  let checking = Promise.resolve();
  let cancel = (): void => undefined;

  async function check(): Promise<void> {
    try {
      if (exists(path) || !exists(dirname(dirname(path)))) return;
      await listen();
      log.warn({ path }, "the socket was removed; listening again");
    } catch (error) {
      log.error({ path, reason: messageOf(error) }, "the socket was removed; cannot listen yet");
    }
  }

  function next(): void {
    if (isStopped) return;
    cancel = clock.after(checkMs, () => {
      checking = check().then(next);
    });
  }

  next();
  return async () => {
    isStopped = true;
    cancel();
    await checking;
  };
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
