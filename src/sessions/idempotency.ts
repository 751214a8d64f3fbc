import { sha256 } from "../core/ids.ts";
import type { KeyedLock } from "../core/single-flight.ts";
import type { AskInput } from "../wire/coding.ts";
import type { AskRequest } from "./ask-rules.ts";
import { sessionError } from "./errors.ts";
import type { PromptQueue, RememberedRequest } from "./prompt-queue.ts";

/** Runs a request with an idempotency key at most once; a repeat gets what the first one did. */
export async function once<T extends Omit<RememberedRequest, "requestHash">>(
  { lock, queue }: { readonly lock: KeyedLock; readonly queue: PromptQueue },
  { input, caller }: AskRequest,
  run: () => Promise<T>,
): Promise<T | RememberedRequest> {
  const key = input.idempotencyKey;
  if (key === undefined) return run();
  return lock.run(`${caller.accountId} ${key}`, async () => {
    const remembered = await queue.remembered(caller.accountId, key);
    if (remembered === null) return runOrForget(key);
    if (remembered.requestHash !== hashOf(input)) {
      throw sessionError(
        "idempotency_conflict",
        `The idempotencyKey "${key}" was used for another request. Take a new key for a new request.`,
      );
    }
    return remembered;
  });

  /** A request that came to nothing may be made again under its key. */
  async function runOrForget(named: string): Promise<T> {
    try {
      return await run();
    } catch (error) {
      await queue.forgetRequest(caller.accountId, named);
      throw error;
    }
  }
}

/** Of what the request asks for; how long it waits for the answer makes no other request of it. */
export function hashOf({ waitMs: _waitMs, idempotencyKey: _key, ...request }: AskInput): string {
  return sha256(JSON.stringify(Object.entries(request).toSorted(([left], [right]) => (left < right ? -1 : 1))));
}
