import { useSyncExternalStore } from "react";

/** A session that the user wants to fork. */
export interface ForkRequest {
  /** As in the page's address. */
  readonly sessionId: string;
  /** The last turn that the new session knows; null for the last turn of the forked session. */
  readonly turn: number | null;
}

let request: ForkRequest | null = null;
const listeners = new Set<() => void>();

/** Opens the dialog on the session's page, or closes it. */
export function requestFork(next: ForkRequest | null): void {
  request = next;
  for (const listener of listeners) listener();
}

export function useForkRequest(sessionId: string): ForkRequest | null {
  return useSyncExternalStore(subscribe, () => (request?.sessionId === sessionId ? request : null));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
