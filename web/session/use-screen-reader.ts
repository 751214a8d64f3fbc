import { useSyncExternalStore } from "react";

const name = "postern.terminal-screen-reader";
const listeners = new Set<() => void>();

/** Whether terminals put their text into the page for screen readers; it costs speed. Remembered by this browser. */
export function useScreenReader(): readonly [boolean, (on: boolean) => void] {
  const on = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => localStorage.getItem(name) === "true",
  );
  return [on, change];
}

function change(on: boolean): void {
  localStorage.setItem(name, String(on));
  for (const listener of listeners) listener();
}
