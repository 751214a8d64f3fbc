// The service worker: shows notifications even while no page is open. It caches nothing.
import type { OpenPage, PushMessage } from "../../src/wire/push.ts";
import { type NotificationData, notificationOf, resultOf, type ShownNotification, tagOf } from "./notification.ts";

/** The parts of its scope that this worker uses. TypeScript's own types for it cannot be combined with those of pages. */
interface WorkerScope {
  readonly location: { readonly origin: string };
  readonly registration: {
    showNotification(title: string, options: ShownNotification["options"]): Promise<void>;
    getNotifications(filter: { readonly tag: string }): Promise<readonly Notification[]>;
  };
  readonly clients: {
    claim(): Promise<void>;
    matchAll(filter: { readonly type: "window"; readonly includeUncontrolled: true }): Promise<readonly WindowClient[]>;
    openWindow(path: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", listener: (event: LifeEvent) => void): void;
  addEventListener(type: "push", listener: (event: PushedEvent) => void): void;
  addEventListener(type: "notificationclick", listener: (event: ClickEvent) => void): void;
}
interface LifeEvent {
  waitUntil(work: Promise<unknown>): void;
}
interface PushedEvent extends LifeEvent {
  readonly data: { json(): unknown } | null;
}
interface ClickEvent extends LifeEvent {
  readonly action: string;
  readonly notification: Notification;
}
interface WindowClient {
  readonly url: string;
  readonly focused: boolean;
  readonly visibilityState: string;
  focus(): Promise<WindowClient>;
  postMessage(message: OpenPage): void;
}
declare const self: WorkerScope;

/** Browsers end a worker that takes longer than about 30 seconds. */
const actionMs = 15_000;

self.addEventListener("install", (event) => event.waitUntil(self.skipWaiting()));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(show(messageIn(event))));
self.addEventListener("notificationclick", (event) => {
  const { action, notification } = event;
  notification.close();
  const data = dataOf(notification);
  const token = action === "allow" || action === "deny" ? data.tokens?.[action] : undefined;
  event.waitUntil(token === undefined ? open(data.path) : act(data, token));
});

/** Only the gateway can encrypt messages for this browser. */
function messageIn({ data }: PushedEvent): PushMessage | null {
  const message = data?.json();
  return isMessage(message) ? message : null;
}

function isMessage(message: unknown): message is PushMessage {
  return typeof message === "object" && message !== null && "type" in message && typeof message.type === "string";
}

async function show(message: PushMessage | null): Promise<void> {
  const shown = message === null ? null : notificationOf(message);
  if (message === null || shown === null) return;
  if (message.type === "withdraw" && !message.mustShow) {
    // The user has dismissed it, or it was never delivered.
    const before = await self.registration.getNotifications({ tag: tagOf(message.sessionId) });
    if (before.length === 0) return;
  }
  await self.registration.showNotification(shown.title, shown.options);
}

function dataOf({ data }: Notification): NotificationData {
  const given: unknown = data;
  return isData(given) ? given : { path: "/", tag: "postern", tokens: null };
}

function isData(data: unknown): data is NotificationData {
  return typeof data === "object" && data !== null && "path" in data && "tag" in data && "tokens" in data;
}

/** Opens the session in an existing window, or in a new one. */
async function open(path: string): Promise<void> {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const [page = ""] = path.split("#", 1);
  const rank = (client: WindowClient): number =>
    new URL(client.url).pathname === page ? 0 : client.focused ? 1 : client.visibilityState === "visible" ? 2 : 3;
  const [best] = windows.toSorted((a, b) => rank(a) - rank(b));
  try {
    if (best !== undefined) {
      const focused = await best.focus();
      focused.postMessage({ type: "open", path });
      return;
    }
  } catch {
    // The window was just closed, or cannot be focused, so open a new one.
  }
  await self.clients.openWindow(path);
}

async function act(data: NotificationData, token: string): Promise<void> {
  const { title, body } = await resultWords(token);
  const shown = resultOf(data, title, body);
  await self.registration.showNotification(shown.title, shown.options);
}

async function resultWords(token: string): Promise<{ readonly title: string; readonly body: string }> {
  try {
    const response = await fetch("/api/push/actions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
      credentials: "omit",
      signal: AbortSignal.timeout(actionMs),
    });
    const answer: unknown = await response.json();
    if (response.ok) {
      return field(answer, "decision") === "allow"
        ? { title: "Allowed", body: "The agent continues." }
        : { title: "Denied", body: "The agent will not do it." };
    }
    return refusals[field(answer, "code")] ?? { title: "Not answered", body: field(answer, "detail") };
  } catch {
    // The gateway may have received the request.
    return { title: "The gateway did not respond", body: "Open the session to see whether the request was answered." };
  }
}

const refusals: Readonly<Record<string, { readonly title: string; readonly body: string }>> = {
  permission_gone: { title: "Already answered", body: "The agent no longer waits for this request." },
  permission_pending: { title: "Not answered", body: "Answer this request in the agent's terminal." },
  push_action_gone: { title: "This notification has expired", body: "Open the session to answer." },
  insufficient_scope: { title: "Not allowed", body: "Your account cannot answer permission requests." },
};

function field(answer: unknown, name: string): string {
  if (typeof answer !== "object" || answer === null) return "";
  const found: unknown = Object.entries(answer).find(([key]) => key === name)?.[1];
  return typeof found === "string" ? found : "";
}
