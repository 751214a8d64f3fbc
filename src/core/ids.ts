import { hash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";

/** A random UUID (version 4). */
export function newUuid(): string {
  return randomUUID();
}

/** Whether `text` is a UUID of any version, in any case. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
}

/** A secret of 256 random bits, as unpadded base64url (43 characters). */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** SHA-256 of `text` as lower-case hex. */
export function sha256(text: string): string {
  return hash("sha256", text);
}

/** Compares two hex hashes in constant time. */
export function sameHash(stored: string, shown: string): boolean {
  const [one, other] = [Buffer.from(stored), Buffer.from(shown)];
  return one.length === other.length && timingSafeEqual(one, other);
}
