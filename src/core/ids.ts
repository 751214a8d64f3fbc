import { hash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";

/** A random UUID (version 4): session, terminal and account identifiers. */
export function newUuid(): string {
  return randomUUID();
}

/** Whether `text` has the form of a UUID of any version, in lower or upper case. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
}

/** A secret of 256 random bits, as unpadded base64url (43 characters). */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** SHA-256 of `text` as lower-case hex: how secrets are stored and how requests are compared. */
export function sha256(text: string): string {
  return hash("sha256", text);
}

/** Whether two hashes in hex are the same, in a time that does not tell how far. */
export function sameHash(stored: string, shown: string): boolean {
  const [one, other] = [Buffer.from(stored), Buffer.from(shown)];
  return one.length === other.length && timingSafeEqual(one, other);
}
