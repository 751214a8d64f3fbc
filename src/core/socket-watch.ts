import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "./clock.ts";
import { messageOf } from "./errors.ts";
import type { Log } from "./log.ts";

/** How soon a removed socket is there again. */
const checkMs = 2_000;

/**
 * Listens again when the file of a Unix socket was removed while its server runs: nobody could connect any more. Another file in its
 * place, the socket of another process perhaps, is left alone. Nothing is made where the folder above the socket's own is gone.
 *
 * @param deps `listen` makes the socket anew, and fails when something is at its path by then
 * @returns stops watching, and resolves when no `listen` is under way
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
