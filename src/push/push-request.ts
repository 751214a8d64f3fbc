import { ECDH } from "node:crypto";
import { PosternError } from "../core/errors.ts";
import type { VapidKeys } from "./vapid-keys.ts";

/** Where a browser receives notifications, and the keys that encrypt them. */
export interface PushTarget {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/** A request to a push service. */
export interface PushRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface PushRequestOptions {
  readonly vapid: VapidKeys;
  /** Contact of the gateway's operator: an https or mailto URL. */
  readonly subject: string;
  readonly ttlMs: number;
  /** A newer message with the same topic replaces one that was not delivered; null for none. */
  readonly topic: string | null;
  readonly urgency: "normal" | "high";
}

/** Encrypts a message for a browser, and signs the request. @see RFC 8030, RFC 8291, RFC 8292 */
export async function pushRequest(target: PushTarget, text: string, options: PushRequestOptions): Promise<PushRequest> {
  // Loaded with the first notification: most gateways send none.
  const { default: webPush } = await import("web-push");
  const { vapid, subject, ttlMs, topic, urgency } = options;
  const { headers, body } = webPush.generateRequestDetails(target, text, {
    vapidDetails: { subject, ...vapid },
    TTL: Math.max(0, Math.ceil(ttlMs / 1_000)),
    contentEncoding: "aes128gcm",
    urgency,
    ...(topic === null ? {} : { topic }),
  });
  // Lengths are numbers, although its types say otherwise.
  return { headers: Object.fromEntries(new Headers(headers)), body: body ?? new Uint8Array() };
}

const authBytes = 16;

/** @throws PosternError `invalid_request` for keys that nothing can be encrypted with */
export function checkKeys({ keys }: PushTarget): void {
  if (Buffer.from(keys.auth, "base64url").length !== authBytes) {
    throw new PosternError("invalid_request", `\`keys.auth\` must have ${authBytes} bytes.`);
  }
  try {
    const point = ECDH.convertKey(keys.p256dh, "prime256v1", "base64url", "base64url", "uncompressed");
    if (typeof point === "string" && Buffer.from(point, "base64url").equals(Buffer.from(keys.p256dh, "base64url")))
      return;
  } catch {
    // Not a point of the curve: refused below.
  }
  throw new PosternError("invalid_request", "`keys.p256dh` is not an uncompressed P-256 public key.");
}
