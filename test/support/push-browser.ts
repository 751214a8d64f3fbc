import type { BrowserContext, Page } from "playwright-core";
import { expect } from "vitest";
import { z } from "zod";
import type { PushService, TestSubscription } from "./push-service.ts";
import { patience } from "./session-page.ts";

/**
 * Chromium's own push service cannot be reached. In this context, `pushManager` hands out a subscription of `service` instead; the worker,
 * its messages and its notifications are real.
 */
export async function usePushService(context: BrowserContext, service: PushService): Promise<TestSubscription> {
  const subscription = service.subscribe();
  const { endpoint, keys } = subscription;
  await context.addInitScript(`(() => {
    const stored = "test.push";
    const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const made = (key) => ({
      endpoint: ${JSON.stringify(endpoint)},
      options: { userVisibleOnly: true, applicationServerKey: bytes(key).buffer },
      toJSON: () => (${JSON.stringify({ endpoint, expirationTime: null, keys })}),
      unsubscribe: async () => { localStorage.removeItem(stored); return true; },
    });
    PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
      if (!userVisibleOnly || bytes(applicationServerKey).length !== 65) throw new TypeError("wrong options");
      localStorage.setItem(stored, applicationServerKey);
      return made(applicationServerKey);
    };
    PushManager.prototype.getSubscription = async () => {
      const key = localStorage.getItem(stored);
      return key === null ? null : made(key);
    };
  })();`);
  return subscription;
}

const shownSchema = z.array(
  z.object({
    title: z.string(),
    body: z.string(),
    tag: z.string(),
    silent: z.boolean().nullable(),
    actions: z.array(z.object({ action: z.string(), title: z.string() })),
  }),
);

/** The gateway's service worker in this browser. */
export async function pushWorker(context: BrowserContext) {
  const worker = () => context.serviceWorkers()[0];
  await expect.poll(() => worker() !== undefined, patience).toBe(true);
  const evaluate = async (script: string): Promise<unknown> => worker()?.evaluate(script);
  return {
    /** The notifications that the browser shows. */
    async shown() {
      const list = await evaluate(`self.registration.getNotifications().then((all) =>
        all.map(({ title, body, tag, silent, actions }) => ({ title, body, tag, silent, actions })))`);
      return shownSchema.parse(list);
    },
    /** Clicks the notification, as Chromium does; resolves when the worker has done its work. */
    async click(action = ""): Promise<void> {
      await evaluate(`(async () => {
        const [notification] = await self.registration.getNotifications();
        const event = new NotificationEvent("notificationclick", { notification, action: ${JSON.stringify(action)} });
        const work = [];
        // Events of scripts cannot extend the worker's life.
        Object.defineProperty(event, "waitUntil", { value: (one) => work.push(one) });
        self.dispatchEvent(event);
        await Promise.all(work);
      })()`);
    },
    /** Without a real click, Chromium opens and focuses no window: from now on, a page of this script does. */
    async noteWindows(): Promise<void> {
      await evaluate(`(() => {
        self.opened = [];
        Object.defineProperty(self.clients, "openWindow", { value: async (path) => { self.opened.push(path); } });
        Object.defineProperty(WindowClient.prototype, "focus", { value: async function () { self.opened.push("focus"); return this; } });
      })()`);
    },
    opened: async () => z.array(z.string()).parse(await evaluate("self.opened")),
  };
}

/** Delivers pushes to the worker of an origin, through any page of the same browser. */
export async function pushDelivery(context: BrowserContext, page: Page, origin: string) {
  const session = await context.newCDPSession(page);
  let registrationId: string | undefined;
  session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    registrationId = registrations.find(({ scopeURL }) => scopeURL === `${origin}/`)?.registrationId ?? registrationId;
  });
  await session.send("ServiceWorker.enable");
  return async (data: unknown): Promise<void> => {
    await expect.poll(() => registrationId, patience).toBeTypeOf("string");
    await session.send("ServiceWorker.deliverPushMessage", {
      origin,
      registrationId: registrationId ?? "",
      data: JSON.stringify(data),
    });
  };
}
