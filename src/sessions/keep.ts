import type { Caller } from "../wire/caller.ts";
import type { KeepInput, KeepOutput } from "../wire/coding.ts";
import type { SessionLocator } from "./locate.ts";
import type { SessionStore } from "./session-store.ts";

/** `coding_keep_session`: whether a session's agent keeps running even when it is idle. */
export function createKeep(deps: {
  readonly locator: SessionLocator;
  readonly store: Pick<SessionStore, "insert" | "update">;
}): (input: KeepInput, caller: Caller) => Promise<KeepOutput> {
  const { locator, store } = deps;
  return async ({ sessionId, keepRunning }, caller) => {
    await locator.withSession(sessionId, caller, async ({ live, stored, record }) => {
      if (live !== null) return live.keepRunning(keepRunning);
      if (stored) await store.update(record.sessionId, { keepRunning });
      else await store.insert({ ...record, keepRunning });
    });
    return locator.summaryOf(await locator.locate(sessionId, caller));
  };
}
