import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { closeOutputSchema, readOutputSchema, type SessionSummary } from "../../src/wire/coding.ts";
import { editSessionOutputSchema } from "../../src/wire/session-notes.ts";
import { messageOf } from "../api/api-error.ts";
import { acting, reading } from "../api/client.ts";
import { isLive, sessionTitle } from "../ui/session-state.ts";
import { refreshSessions } from "./edits.ts";
import { clearSelection, deselect } from "./selection.ts";
import { showToast } from "./toasts.tsx";

export type BulkDeed = "close" | "archive" | "restore";

/** A run over the selected sessions; null if none is in progress. */
export interface BulkRun {
  readonly deed: BulkDeed;
  readonly done: number;
  readonly total: number;
}

export interface BulkFailure {
  readonly sessionId: string;
  readonly title: string;
  readonly reason: string;
}

interface BulkState {
  readonly run: BulkRun | null;
  readonly failures: readonly BulkFailure[];
}

/** A close can take seconds. More closes at the same time would only slow each other down. */
const atOnce = 3;

let state: BulkState = { run: null, failures: [] };
const listeners = new Set<() => void>();

function set(next: BulkState): void {
  state = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useBulk(): BulkState & {
  readonly start: (deed: BulkDeed, sessions: readonly SessionSummary[]) => void;
  readonly dismiss: () => void;
} {
  const client = useQueryClient();
  const now = useSyncExternalStore(subscribe, () => state);
  const start = useCallback(
    (deed: BulkDeed, sessions: readonly SessionSummary[]) => void runBulk(client, deed, sessions),
    [client],
  );
  return { ...now, start, dismiss: () => set({ ...state, failures: [] }) };
}

const doneWords: Readonly<Record<BulkDeed, string>> = { close: "Closed", archive: "Archived", restore: "Restored" };

/** Does nothing while another run is not over. Sessions that failed stay selected. */
async function runBulk(client: QueryClient, deed: BulkDeed, sessions: readonly SessionSummary[]): Promise<void> {
  if (state.run !== null || sessions.length === 0) return;
  const failures: BulkFailure[] = [];
  const succeeded: SessionSummary[] = [];
  let skipped = 0;
  set({ run: { deed, done: 0, total: sessions.length }, failures: [] });
  const waiting = [...sessions];
  const worker = async (): Promise<void> => {
    for (let session = waiting.shift(); session !== undefined; session = waiting.shift()) {
      try {
        if (await act(deed, session)) succeeded.push(session);
        else skipped += 1;
      } catch (error) {
        failures.push({ sessionId: session.sessionId, title: sessionTitle(session), reason: messageOf(error) });
      }
      const done = succeeded.length + failures.length + skipped;
      set({ run: { deed, done, total: sessions.length }, failures: [...failures] });
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, worker));
  } finally {
    set({ run: null, failures: [...failures] });
    refreshSessions(
      client,
      succeeded.map(({ sessionId }) => sessionId),
    );
  }
  const failed = new Set(failures.map(({ sessionId }) => sessionId));
  if (failed.size === 0) clearSelection();
  else deselect(sessions.map(({ sessionId }) => sessionId).filter((id) => !failed.has(id)));
  const other = skipped === 0 ? "" : ` ${skipped} had ended already.`;
  const opposite = deed === "archive" ? "restore" : deed === "restore" ? "archive" : null;
  showToast({
    tone: "info",
    text: `${doneWords[deed]} ${succeeded.length} ${succeeded.length === 1 ? "session" : "sessions"}.${other}`,
    undo: opposite === null || succeeded.length === 0 ? undefined : () => void runBulk(client, opposite, succeeded),
  });
}

/** @returns false if there is nothing left to do: the session changed since it was selected */
async function act(deed: BulkDeed, { sessionId }: SessionSummary): Promise<boolean> {
  if (deed === "close") {
    const fresh = await reading.codingReadSession({ sessionId, last: 1, blocks: false }, { output: readOutputSchema });
    if (!isLive(fresh) && (fresh.worktree === null || fresh.worktree.removed)) return false;
    await acting.codingCloseSession({ sessionId: fresh.sessionId }, { output: closeOutputSchema });
    return true;
  }
  await acting.editSession({ sessionId, archived: deed === "archive" }, { output: editSessionOutputSchema });
  return true;
}
