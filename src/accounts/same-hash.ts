import { timingSafeEqual } from "node:crypto";

/** Whether two hashes in hex are the same, in a time that does not tell how far. */
export function sameHash(stored: string, shown: string): boolean {
  const [one, other] = [Buffer.from(stored), Buffer.from(shown)];
  return one.length === other.length && timingSafeEqual(one, other);
}
