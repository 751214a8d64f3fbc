import { useSyncExternalStore } from "react";
import { ago, exactTime } from "./time.ts";

const tickMs = 30_000;

/** How long ago something was; it moves on by itself. */
export function RelativeTime({ at, className }: { readonly at: string; readonly className?: string }) {
  const nowMs = useSyncExternalStore(subscribe, () => clock.nowMs);
  return (
    <time dateTime={at} title={exactTime(at)} className={className}>
      {ago(at, nowMs)}
    </time>
  );
}

/** One timer for all of them. */
const clock = { nowMs: Date.now(), listeners: new Set<() => void>(), timer: 0 };

function subscribe(listener: () => void): () => void {
  clock.listeners.add(listener);
  if (clock.listeners.size === 1) {
    clock.timer = window.setInterval(() => {
      clock.nowMs = Date.now();
      for (const tell of clock.listeners) tell();
    }, tickMs);
  }
  clock.nowMs = Math.max(clock.nowMs, Date.now() - tickMs);
  return () => {
    clock.listeners.delete(listener);
    if (clock.listeners.size === 0) window.clearInterval(clock.timer);
  };
}
