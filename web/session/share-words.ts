const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** `Expires in 7 days`. */
export function expiryWords(expiresAt: string, nowMs: number): string {
  const leftMs = Date.parse(expiresAt) - nowMs;
  if (leftMs <= 0) return "Expired";
  if (leftMs < hourMs) return `Expires in ${units(leftMs, minuteMs, "minute")}`;
  return leftMs < dayMs ? `Expires in ${units(leftMs, hourMs, "hour")}` : `Expires in ${units(leftMs, dayMs, "day")}`;
}

/** Rounded, so that a new link shows its full time. */
function units(leftMs: number, unitMs: number, unit: string): string {
  const count = Math.max(1, Math.round(leftMs / unitMs));
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

export function countedTimes(opens: number): string {
  if (opens === 0) return "never opened";
  return opens === 1 ? "opened once" : `opened ${opens} times`;
}
