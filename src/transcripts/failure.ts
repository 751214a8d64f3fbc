/** What has to happen before another turn can succeed: a log-in, or the end of a limit. */
export type FailureNeeds = "login" | "limit_reset";

// The last second that a date can name.
const lastSecond = 8_640_000_000_000;

/** Epoch seconds as ISO 8601; null for what is no date. */
export function isoSeconds(seconds: number | undefined): string | null {
  if (seconds === undefined || !(seconds > 0 && seconds <= lastSecond)) return null;
  return new Date(seconds * 1000).toISOString();
}
