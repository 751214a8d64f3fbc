import { pushSubscriptionSchema, pushSubscriptionsSchema } from "../../src/wire/push.ts";
import { acting, reading } from "../api/client.ts";
import { browserName } from "../pages/audit-words.ts";
import { rememberNotified } from "./notified-account.ts";

/** Whether this browser can receive notifications, and why not. */
export type Support = "supported" | "insecure" | "needs_home_screen" | "unsupported";

/** If the push service is unreachable, the promise of `subscribe` never settles. */
const subscribeMs = 20_000;
const unsubscribeMs = 5_000;

export function support(): Support {
  if (!window.isSecureContext) return "insecure";
  if ("serviceWorker" in navigator && "PushManager" in window && "Notification" in window) return "supported";
  return isAppleTouch() && !isInstalled() ? "needs_home_screen" : "unsupported";
}

/** iPads report themselves as Macs. */
function isAppleTouch(): boolean {
  return (
    /iPhone|iPad/.test(navigator.userAgent) || (/Macintosh/.test(navigator.userAgent) && navigator.maxTouchPoints > 1)
  );
}

function isInstalled(): boolean {
  return window.matchMedia("(display-mode: standalone)").matches;
}

/** SHA-256 of this browser's endpoint, hex; null if it is not subscribed. */
export async function endpointHashHere(): Promise<string | null> {
  const subscription = await current();
  if (subscription === null) return null;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(subscription.endpoint));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Asks the user, so call it after a click. @throws Error with the reason for the user */
export async function turnOn(accountId: string): Promise<void> {
  if ((await Notification.requestPermission()) !== "granted") {
    throw new Error("Notifications are blocked. Allow them in your browser's site settings, then try again.");
  }
  await subscribe(accountId);
}

/** Renews the subscription of a browser that has notifications on: the gateway or the browser may have lost it. */
export async function renew(accountId: string): Promise<void> {
  if (support() !== "supported" || Notification.permission !== "granted") return;
  await subscribe(accountId);
}

async function subscribe(accountId: string): Promise<void> {
  const { publicKey } = await reading.listPushSubscriptions({}, { output: pushSubscriptionsSchema });
  await navigator.serviceWorker.register("/worker.js");
  const { pushManager } = await navigator.serviceWorker.ready;
  const existing = await pushManager.getSubscription();
  // It belongs to another gateway at this address, or to one whose key was lost.
  if (existing !== null && !hasKey(existing, publicKey)) await existing.unsubscribe();
  const subscription = await within(
    subscribeMs,
    pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey }),
    "The browser's push service did not respond. Try again later.",
  );
  const { endpoint, p256dh, auth } = partsOf(subscription);
  const name = browserName(navigator.userAgent);
  await acting.addPushSubscription({ endpoint, keys: { p256dh, auth }, name }, { output: pushSubscriptionSchema });
  rememberNotified(accountId);
}

function partsOf(subscription: PushSubscription) {
  const { endpoint, keys = {} } = subscription.toJSON();
  const { p256dh, auth } = keys;
  if (endpoint === undefined || p256dh === undefined || auth === undefined) {
    throw new Error("This browser created a subscription without keys.");
  }
  return { endpoint, p256dh, auth };
}

function hasKey({ options }: PushSubscription, publicKey: string): boolean {
  const key = options.applicationServerKey;
  if (key === null) return true;
  const text = btoa(String.fromCharCode(...new Uint8Array(key)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") === publicKey;
}

/** Ends the subscription in the browser. The gateway's subscription is removed separately. Never throws. */
export async function turnOffHere(): Promise<void> {
  rememberNotified(null);
  try {
    const subscription = await current();
    if (subscription !== null) await within(unsubscribeMs, subscription.unsubscribe(), "");
  } catch {
    // The gateway no longer sends to it, and the push service drops it.
  }
}

async function current(): Promise<PushSubscription | null> {
  if (support() !== "supported") return null;
  const registration = await navigator.serviceWorker.getRegistration();
  return (await registration?.pushManager.getSubscription()) ?? null;
}

/** @throws Error with `words` after `timeoutMs` */
async function within<T>(timeoutMs: number, work: Promise<T>, words: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(words)), timeoutMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
