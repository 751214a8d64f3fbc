import type { QuietHours } from "../wire/push.ts";

const minuteMs = 60_000;
const dayMinutes = 24 * 60;

/**
 * The end of the quiet hours at `now`; null outside quiet hours. Around a change of the clocks it can be off by up to an hour: check
 * again at that time.
 */
export function quietUntil({ from, to, timeZone }: QuietHours, now: number): number | null {
  const [start, end] = [minutesOf(from), minutesOf(to)];
  const minute = localMinute(now, timeZone);
  const quiet = start < end ? minute >= start && minute < end : minute >= start || minute < end;
  if (!quiet) return null;
  const minuteStart = now - (now % minuteMs);
  const at = minuteStart + ((end - minute + dayMinutes) % dayMinutes) * minuteMs;
  // The clocks may have changed in between.
  const off = (localMinute(at, timeZone) - end + dayMinutes) % dayMinutes;
  const corrected = at - (off > dayMinutes / 2 ? off - dayMinutes : off) * minuteMs;
  return corrected > now ? corrected : at;
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return hours * 60 + minutes;
}

function localMinute(epochMs: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return minutesOf(parts.format(epochMs));
}
