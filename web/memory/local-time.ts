/** A time as a field for date and time has it: of this place, to the minute. */
export function localTime(timeMs: number): string {
  const offsetMs = new Date(timeMs).getTimezoneOffset() * 60_000;
  return new Date(timeMs - offsetMs).toISOString().slice(0, 16);
}

/** What such a field says, in milliseconds; null when it says nothing that is a time. */
export function timeOfLocal(local: string): number | null {
  if (!/^\d{4,6}-\d\d-\d\dT\d\d:\d\d/.test(local)) return null;
  const timeMs = new Date(local).getTime();
  return Number.isNaN(timeMs) ? null : timeMs;
}
