const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** How long things last that the authorization server gives, in milliseconds. */
export const lifetimes = {
  /** RFC 6749 section 4.1.2 allows ten minutes; a redirect takes a second. */
  codeMs: minuteMs,
  accessTokenMs: 60 * minuteMs,
  /** An app that is not used for so long has to be let in anew. Each refresh begins it again. */
  grantMs: 30 * dayMs,
  deviceCodeMs: 10 * minuteMs,
  /** A signing key signs for so long. */
  signingKeyMs: 90 * dayMs,
  /** A new key is shown for so long before it signs: who keeps the key set for a while knows it by then. */
  keyNoticeMs: 60 * minuteMs,
  /** A client that registered itself and was let in by nobody is forgotten after this. */
  unusedClientMs: dayMs,
  /** And one that nobody lets in any more, after this. */
  idleClientMs: 90 * dayMs,
} as const;

/** What RFC 6749 counts in. */
export function inSeconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
