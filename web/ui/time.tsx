import { useSyncExternalStore } from "react";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** `now`, `4 min ago`, `3 h ago`, `2 d ago`, then the date. */
export function ago(at: string, nowMs: number): string {
  const time = Date.parse(at);
  if (Number.isNaN(time)) return "";
  const passed = nowMs - time;
  if (passed < minuteMs) return "now";
  if (passed < hourMs) return `${Math.floor(passed / minuteMs)} min ago`;
  if (passed < dayMs) return `${Math.floor(passed / hourMs)} h ago`;
  if (passed < 7 * dayMs) return `${Math.floor(passed / dayMs)} d ago`;
  const sameYear = new Date(time).getFullYear() === new Date(nowMs).getFullYear();
  return new Date(time).toLocaleDateString(undefined, {
    day: "numeric",
    month: "short",
    ...(sameYear ? {} : { year: "numeric" }),
  });
}

/** The time, with the date of another day and the year of another year. */
export function timeWords(at: string, nowMs: number): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return at;
  const now = new Date(nowMs);
  const sameDay = time.toDateString() === now.toDateString();
  const sameYear = time.getFullYear() === now.getFullYear();
  return time.toLocaleString(undefined, {
    hour: "2-digit",
    minute: "2-digit",
    ...(sameDay ? {} : { day: "numeric", month: "short" }),
    ...(sameYear ? {} : { year: "numeric" }),
  });
}

export function exactTime(at: string): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime())
    ? at
    : time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** The date without the time. */
export function shortDate(at: string): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? at : time.toLocaleDateString(undefined, { dateStyle: "medium" });
}

const tickMs = 30_000;

/** The time of this browser, half a minute old at most. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => clock.nowMs);
}

export function RelativeTime({ at, className }: { readonly at: string; readonly className?: string }) {
  const nowMs = useNow();
  return (
    <time dateTime={at} title={exactTime(at)} className={className}>
      {ago(at, nowMs)}
    </time>
  );
}

const clock = { nowMs: Date.now(), listeners: new Set<() => void>(), timer: 0 };

function subscribe(listener: () => void): () => void {
  clock.listeners.add(listener);
  if (clock.listeners.size === 1) {
    clock.timer = window.setInterval(() => {
      clock.nowMs = Date.now();
      for (const notify of clock.listeners) notify();
    }, tickMs);
  }
  clock.nowMs = Math.max(clock.nowMs, Date.now() - tickMs);
  return () => {
    clock.listeners.delete(listener);
    if (clock.listeners.size === 0) window.clearInterval(clock.timer);
  };
}
