import { randomBytes } from "node:crypto";

/** Crockford's base 32, which sorts by value. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const timeLength = 10;
const randomLength = 16;

/** Sorts before every id. */
export const originId = "0".repeat(timeLength + randomLength);

export function isEventId(text: string): boolean {
  return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(text);
}

/** The smallest id of this time. */
export function firstIdAt(epochMs: number): string {
  return encodeTime(epochMs) + "0".repeat(randomLength);
}

/**
 * Makes ULIDs, each larger than the last and than `newest`, whatever the clock does. With 80 random bits, ids of a discarded store do
 * not recur.
 */
export function createEventIds(newest: string): (epochMs: number) => string {
  let last = newest;
  return (epochMs) => {
    const fresh = encodeTime(epochMs) + encodeRandom();
    // Within a millisecond, and after the clock was set back, ids count up.
    last = fresh > last && fresh.slice(0, timeLength) !== last.slice(0, timeLength) ? fresh : increment(last);
    return last;
  };
}

function encodeTime(epochMs: number): string {
  let text = "";
  let rest = epochMs;
  for (let at = 0; at < timeLength; at += 1) {
    text = alphabet.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function encodeRandom(): string {
  return [...randomBytes(randomLength)].map((byte) => alphabet.charAt(byte % 32)).join("");
}

function increment(id: string): string {
  const digits = id.split("");
  for (let at = digits.length - 1; at >= 0; at -= 1) {
    const next = alphabet.indexOf(digits[at] ?? "") + 1;
    digits[at] = alphabet.charAt(next % 32);
    if (next < 32) break;
  }
  return digits.join("");
}
