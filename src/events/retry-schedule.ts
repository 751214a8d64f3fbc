/** Attempts before an event is given up: with the pauses below, over about twenty hours. */
export const maxAttempts = 13;

/**
 * Attempts during which an event holds back the later ones of its webhook, about ten minutes: a receiver that is restarted gets
 * everything in order. After that it is tried beside them, so that one that is always refused does not hold up the rest for a day.
 */
export const attemptsInOrder = 6;

const firstPauseMs = 5_000;
const factor = 3;
const longestPauseMs = 4 * 3_600_000;
// Receivers that fail together shall not be called again together.
const jitter = 0.2;
/** A receiver may ask for a pause, but not for days of them. */
const longestAskedPauseMs = 3_600_000;

/**
 * How long to wait after this many failed attempts.
 *
 * @param options `random` from 0 to 1; `askedMs` what the receiver's `Retry-After` says, null when it does not
 */
export function pauseAfter(
  attempts: number,
  options: { readonly random: number; readonly askedMs: number | null },
): number {
  const plainMs = Math.min(firstPauseMs * factor ** (attempts - 1), longestPauseMs);
  const ownMs = Math.round(plainMs * (1 - jitter + 2 * jitter * options.random));
  return Math.max(ownMs, Math.min(options.askedMs ?? 0, longestAskedPauseMs));
}

/** The milliseconds of a `Retry-After` header; null when there is none that can be read. @see RFC 9110 section 10.2.3 */
export function retryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
