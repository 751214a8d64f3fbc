import { createHmac, randomBytes } from "node:crypto";

/** How a secret begins that is not sealed. */
export const secretPrefix = "whsec_";

/** A new secret: 256 random bits, in the form that verifying libraries take. @see https://www.standardwebhooks.com */
export function newWebhookSecret(): string {
  return secretPrefix + randomBytes(32).toString("base64");
}

/**
 * The headers that say from whom a request is, what it is about and when it was sent. The signature is over `id.timestamp.body`; the
 * timestamp, in seconds, is that of this attempt, so that a receiver can refuse what was recorded long ago.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function signedHeaders(
  secret: string,
  message: { readonly id: string; readonly at: number; readonly body: string },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(message.at / 1_000));
  const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
  const signature = createHmac("sha256", key).update(`${message.id}.${timestamp}.${message.body}`).digest("base64");
  return { "webhook-id": message.id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}
