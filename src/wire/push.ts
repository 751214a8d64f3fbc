import { z } from "zod";
import { attemptResultSchema } from "./events.ts";
import { textSchema } from "./text.ts";

/** Kinds of notifications. */
export const pushKinds = ["needs_permission", "needs_answer", "finished", "failed", "limited"] as const;
export const pushKindSchema = z
  .enum(pushKinds)
  .describe(
    "`needs_permission`: a permission request or a plan. `needs_answer`: a question, a dialog or a missing login. `finished`: a turn ended. `failed`: a turn or the agent failed. `limited`: a usage limit is reached.",
  );

const base64Url = /^[\w-]+={0,2}$/;

/** `POST /api/push/subscriptions`: the browser's `PushSubscription.toJSON()`, with a name. */
export const addPushSubscriptionInputSchema = z
  .strictObject({
    endpoint: z
      .url({ protocol: /^https?$/, error: "Must be an https URL." })
      .max(2_000)
      .describe(
        "URL of the browser's push service. http and private addresses require the setting `allowPrivateAddresses`.",
      ),
    keys: z.strictObject({
      p256dh: z.string().regex(base64Url).max(100).describe("Public key, base64url."),
      auth: z.string().regex(base64Url).max(40).describe("Authentication secret, base64url."),
    }),
    expirationTime: z.number().nullable().optional().describe("As reported by the browser. Ignored."),
    name: textSchema(100).describe("Shown in the list of browsers."),
  })
  .meta({ id: "AddPushSubscriptionInput" });

/** A browser that receives notifications. */
export const pushSubscriptionSchema = z
  .object({
    subscriptionId: z.string(),
    name: z.string(),
    service: z.string().describe("Host of the browser's push service."),
    endpointHash: z
      .string()
      .describe("SHA-256 of the endpoint, in hex. A browser uses it to find its own subscription."),
    createdAt: z.string(),
    lastUsedAt: z.string().nullable().describe("When the push service last accepted a notification."),
    lastError: z.string().nullable().describe("Why the last notification was not accepted. Null if it was."),
  })
  .meta({ id: "PushSubscription" });

/** `GET /api/push/subscriptions` */
export const pushSubscriptionsSchema = z.object({
  publicKey: z.string().describe("The gateway's VAPID key: the browser's `applicationServerKey`, base64url."),
  subscriptions: z.array(pushSubscriptionSchema),
});

const timeOfDaySchema = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "Must be a time such as 22:00.");

const quietHoursShape = {
  from: timeOfDaySchema,
  to: timeOfDaySchema,
  timeZone: z
    .string()
    .max(100)
    .refine(isTimeZone, { error: "Unknown time zone. Use an IANA name such as Europe/Berlin." }),
};

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false; // the only thing that it throws for
  }
}

/** The longest delay while a desktop browser is in use. */
export const maxDesktopDelaySeconds = 600;

const preferencesShape = {
  kinds: z.array(pushKindSchema).max(pushKinds.length),
  desktopDelaySeconds: z
    .int()
    .min(0)
    .max(maxDesktopDelaySeconds)
    .describe("Delay while a page is visible on a desktop browser of the account."),
  showTitles: z.boolean().describe("Adds the agent's name and the session's title."),
  showRequests: z.boolean().describe("Adds the text of a short permission request, with actions to allow and deny it."),
};
const quietHoursWords =
  "Notifications during these hours are held back, and summarized in one notification afterwards.";

/** `GET /api/push/preferences`: the account's preferences, for all of its browsers. */
export const pushPreferencesSchema = z
  .object({ ...preferencesShape, quietHours: z.object(quietHoursShape).nullable().describe(quietHoursWords) })
  .meta({ id: "PushPreferences" });

/** `PUT /api/push/preferences` */
export const setPushPreferencesInputSchema = z
  .strictObject({
    ...preferencesShape,
    quietHours: z
      .strictObject(quietHoursShape)
      .refine(({ from, to }) => from !== to, { error: "`from` and `to` must differ." })
      .nullable()
      .describe(quietHoursWords),
  })
  .meta({ id: "SetPushPreferencesInput" });

/** `POST /api/push/actions` */
export const pushActionInputSchema = z
  .strictObject({ token: textSchema(100).describe("The single-use token of a notification's action.") })
  .meta({ id: "PushActionInput" });

export const pushActionOutputSchema = z
  .object({ sessionId: z.string(), decision: z.enum(["allow", "deny"]) })
  .meta({ id: "PushActionOutput" });

export const pushTestOutputSchema = attemptResultSchema
  .extend({
    removed: z
      .boolean()
      .describe("True if the push service no longer knows this browser; its subscription was removed."),
  })
  .meta({ id: "PushTestOutput" });

/** The content of a notification. Only ids and the kind, unless the account's preferences add more. */
export type PushMessage =
  | {
      readonly type: "notice";
      readonly kind: PushKind;
      readonly sessionId: string;
      readonly permissionId: string | null;
      /** Does not alert again: the same session still needs the user. */
      readonly silent?: true;
      readonly agent?: string;
      readonly title?: string;
      /** The whole text of a permission request. */
      readonly request?: { readonly tool: string; readonly text: string };
      /** Single-use tokens. */
      readonly actions?: { readonly allow: string; readonly deny: string };
    }
  /** The request in the notification was answered. */
  | { readonly type: "withdraw"; readonly sessionId: string; readonly mustShow: boolean }
  /** After quiet hours. */
  | { readonly type: "summary"; readonly counts: Readonly<Partial<Record<PushKind, number>>> }
  | { readonly type: "test" };

/** A message from the service worker to a page: the address to open. */
export interface OpenPage {
  readonly type: "open";
  readonly path: string;
}

export type PushKind = z.infer<typeof pushKindSchema>;
export type AddPushSubscriptionInput = z.infer<typeof addPushSubscriptionInputSchema>;
export type PushSubscriptionRecord = z.infer<typeof pushSubscriptionSchema>;
export type PushPreferences = z.infer<typeof pushPreferencesSchema>;
export type QuietHours = NonNullable<PushPreferences["quietHours"]>;
export type PushActionOutput = z.infer<typeof pushActionOutputSchema>;
export type PushTestOutput = z.infer<typeof pushTestOutputSchema>;
