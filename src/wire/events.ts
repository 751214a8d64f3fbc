import { z } from "zod";
import { activitySchema, pendingPermissionSchema, sessionStatusSchema } from "./coding.ts";
import { textSchema } from "./text.ts";

/** Kinds of session events. */
export const eventKinds = [
  "session.created",
  "session.status",
  "session.activity",
  "session.turn_ended",
  "session.permission_asked",
  "session.queue_changed",
  "session.exited",
  "session.closed",
  "session.edited",
] as const;
export const eventKindSchema = z.enum(eventKinds);

/** An event's id: 26 characters, in the order of publication when compared as text, never used twice. */
export const eventIdSchema = z
  .string()
  .regex(/^[0-9A-HJKMNP-TV-Z]{26}$/, "Not an event id: use the 26-character `id` of an event you received.");

// Only ids, names and numbers: events can leave the machine, but prompts, turns and tool inputs must not.
const head = {
  id: eventIdSchema,
  at: z
    .string()
    .describe("When it happened. After a gateway restart, this can be earlier than the time of publication."),
  sessionId: z.string(),
  agent: z.string(),
  dir: z.string(),
};

export const sessionCreatedSchema = z
  .object({
    kind: z.literal("session.created"),
    ...head,
    status: sessionStatusSchema,
    activity: activitySchema.nullable(),
    replaces: z
      .string()
      .nullable()
      .describe("The session or provisional id that this session replaces in the same terminal."),
  })
  .meta({ id: "SessionCreatedEvent" });

export const sessionStatusEventSchema = z
  .object({
    kind: z.literal("session.status"),
    ...head,
    status: sessionStatusSchema,
    previous: sessionStatusSchema.nullable(),
    continuedBy: z.string().nullable().describe("The session that continues in the same process."),
  })
  .meta({ id: "SessionStatusEvent" });

export const sessionActivitySchema = z
  .object({
    kind: z.literal("session.activity"),
    ...head,
    activity: activitySchema,
    previous: activitySchema.nullable(),
  })
  .meta({ id: "SessionActivityEvent" });

export const sessionTurnEndedSchema = z
  .object({ kind: z.literal("session.turn_ended"), ...head })
  .meta({ id: "SessionTurnEndedEvent" });

export const sessionPermissionAskedSchema = z
  .object({
    kind: z.literal("session.permission_asked"),
    ...head,
    permissionId: z.string(),
    permission: pendingPermissionSchema.shape.kind,
    tool: z.string().describe("Tool name. `coding_read_session` returns the input."),
  })
  .meta({ id: "SessionPermissionAskedEvent" });

export const sessionQueueChangedSchema = z
  .object({
    kind: z.literal("session.queue_changed"),
    ...head,
    queuedPrompts: z.int().describe("Number of queued prompts."),
  })
  .meta({ id: "SessionQueueChangedEvent" });

export const sessionExitedSchema = z
  .object({
    kind: z.literal("session.exited"),
    ...head,
    status: sessionStatusSchema,
    exitCode: z.int().nullable().describe("128 plus the signal number after a signal. Null if unknown."),
    signal: z.string().nullable(),
    endedAfterIdleMs: z
      .int()
      .nullable()
      .default(null)
      .describe("How long the agent was idle before the gateway ended it. Null if it ended for another reason."),
  })
  .meta({ id: "SessionExitedEvent" });

export const sessionClosedSchema = z
  .object({ kind: z.literal("session.closed"), ...head })
  .meta({ id: "SessionClosedEvent" });

/** The event does not contain the title and the labels, because they can describe the conversation. */
export const sessionEditedSchema = z
  .object({ kind: z.literal("session.edited"), ...head, pinned: z.boolean(), archived: z.boolean() })
  .meta({ id: "SessionEditedEvent" });

/** A session event: the `data` of the event stream and the body of webhook requests. */
export const sessionEventSchema = z
  .discriminatedUnion("kind", [
    sessionCreatedSchema,
    sessionStatusEventSchema,
    sessionActivitySchema,
    sessionTurnEndedSchema,
    sessionPermissionAskedSchema,
    sessionQueueChangedSchema,
    sessionExitedSchema,
    sessionClosedSchema,
    sessionEditedSchema,
  ])
  .meta({ id: "SessionEvent" });

/** The `data` of the stream's `reset` event: the given event id is unknown or no longer stored. */
export const streamResetSchema = z
  .object({ kind: z.literal("reset"), id: eventIdSchema, at: z.string(), reason: z.string() })
  .meta({ id: "StreamReset" });

/** `GET /api/coding/events` */
export const eventsQuerySchema = z.strictObject({
  sessionId: textSchema(200).optional().describe("Only events of this session."),
  lastEventId: z
    .string()
    .max(200)
    .optional()
    .describe("For clients that cannot send the header `Last-Event-ID`. The header takes precedence."),
});

export const webhookSchema = z
  .object({
    webhookId: z.string(),
    url: z.string(),
    kinds: z.array(eventKindSchema).nullable().describe("Null means all."),
    folders: z.array(z.string()).nullable().describe("Only sessions in these folders. Null means no limit."),
    createdAt: z.string(),
    disabledAt: z.string().nullable(),
    disabledReason: z.string().nullable(),
    waiting: z.int().describe("Events waiting for delivery."),
    dead: z.int().describe("Events that could not be delivered."),
  })
  .meta({ id: "Webhook" });

/** `POST /api/webhooks` */
export const addWebhookInputSchema = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/, error: "Must be an http or https URL." })
      .max(2_000)
      .describe("https URL. http and private addresses require the setting `allowPrivateAddresses`."),
    kinds: z.array(eventKindSchema).min(1).max(eventKinds.length).optional().describe("Defaults to all kinds."),
  })
  .meta({ id: "AddWebhookInput" });

/** The response, which is the only one that contains the secret. */
export const addedWebhookSchema = webhookSchema
  .extend({ secret: z.string().describe("Verifies signatures. Shown only once.") })
  .meta({ id: "AddedWebhook" });

export const deliveryStateSchema = z.enum(["waiting", "delivered", "dead"]);

export const deliverySchema = z
  .object({
    eventId: eventIdSchema,
    kind: eventKindSchema,
    state: deliveryStateSchema,
    attempts: z.int(),
    lastAttemptAt: z.string().nullable(),
    nextAttemptAt: z.string().nullable(),
    lastStatus: z.int().nullable().describe("HTTP status of the last attempt. Null if there was no response."),
    lastError: z.string().nullable(),
  })
  .meta({ id: "WebhookDelivery" });

/** `GET /api/webhooks/{webhookId}/deliveries` */
export const deliveriesQuerySchema = z.strictObject({
  state: deliveryStateSchema.optional(),
  limit: z.coerce.number().int().min(1).max(1_000).optional().describe("Defaults to 100, newest first."),
});

/** `POST /api/webhooks/{webhookId}/deliveries/retry` */
export const retryDeliveriesInputSchema = z
  .strictObject({
    eventIds: z.array(eventIdSchema).min(1).max(1_000).optional().describe("Defaults to all undeliverable events."),
  })
  .meta({ id: "RetryDeliveriesInput" });

/** The body of a test request to a webhook. */
export const webhookTestSchema = z
  .object({ kind: z.literal("webhook.test"), id: eventIdSchema, at: z.string(), webhookId: z.string() })
  .meta({ id: "WebhookTest" });

/** The result of one delivery attempt. */
export const attemptResultSchema = z
  .object({
    ok: z.boolean(),
    status: z.int().nullable(),
    error: z.string().nullable(),
    durationMs: z.int(),
  })
  .meta({ id: "WebhookAttempt" });

export type EventKind = z.infer<typeof eventKindSchema>;
export type SessionEvent = z.infer<typeof sessionEventSchema>;
/** An event that has no id yet. */
export type NewSessionEvent = WithoutId<SessionEvent>;
type WithoutId<Event> = Event extends SessionEvent ? Omit<Event, "id"> : never;
export type StreamReset = z.infer<typeof streamResetSchema>;
export type Webhook = z.infer<typeof webhookSchema>;
export type AddWebhookInput = z.infer<typeof addWebhookInputSchema>;
export type AddedWebhook = z.infer<typeof addedWebhookSchema>;
export type DeliveryState = z.infer<typeof deliveryStateSchema>;
export type Delivery = z.infer<typeof deliverySchema>;
export type AttemptResult = z.infer<typeof attemptResultSchema>;
export type WebhookTest = z.infer<typeof webhookTestSchema>;
