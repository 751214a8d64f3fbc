const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Lifetimes of what the authorization server issues, in milliseconds. */
export const lifetimes = {
  /** RFC 6749 section 4.1.2 allows up to ten minutes; a redirect takes a second. */
  codeMs: minuteMs,
  accessTokenMs: 60 * minuteMs,
  /** An app that is unused for this long must be authorized again. Each refresh resets the time. */
  grantMs: 30 * dayMs,
  deviceCodeMs: 10 * minuteMs,
  /** How long a key is used for signing. */
  signingKeyMs: 90 * dayMs,
  /** How long a new key is published before it is used, so that cached key sets include it by then. */
  keyNoticeMs: 60 * minuteMs,
  /** A client that registered itself and was never authorized is removed after this time. */
  unusedClientMs: dayMs,
  /** A client that was authorized, but is no longer used, is removed after this time. */
  idleClientMs: 90 * dayMs,
} as const;

/** Seconds, the unit of RFC 6749. */
export function inSeconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
