/** A key that no other prompt has. `crypto.randomUUID` is missing on a plain-http address of another machine. */
export function idempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
