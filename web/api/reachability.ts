import { useSyncExternalStore } from "react";

let reachable = true;
const listeners = new Set<() => void>();

/** Notes whether the last request reached the gateway. */
export function noteReachable(next: boolean): void {
  if (next === reachable) return;
  reachable = next;
  for (const listener of listeners) listener();
}

/** Whether the gateway answered the last request. */
export function useReachable(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => reachable,
  );
}
