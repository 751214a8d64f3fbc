import { z } from "zod";
import { textSchema } from "./text.ts";
import { turnSchema } from "./turn.ts";

/** What an entry may hold. A longer session comes in several. */
export const maxLogCharacters = 1_000_000;
/** Turns that one entry takes. */
export const maxLogTurns = 1_000;

export const logSourceSchema = z.enum(["session", "api"]);
export const logStatusSchema = z.enum(["pending", "ready", "failed"]);

/** Kinds of things that statements speak of. */
export const entityTypes = [
  "Session",
  "Repository",
  "Branch",
  "Commit",
  "File",
  "Command",
  "Url",
  "Tool",
  "Package",
  "Issue",
  "Decision",
] as const;
export const entityTypeSchema = z.enum(entityTypes);

/** Predicates with one value at a time: a fact of them ends where the next one about its subject begins. */
export const singleValuedPredicates = ["current_branch", "last_exit", "status"] as const;
/** What a statement says of its subject. */
export const predicates = [
  ...singleValuedPredicates,
  ...["in_repository", "by_agent", "read", "edited", "ran", "used", "installed", "committed", "mentioned"],
  ...["decided", "remembered"],
] as const;
/** The name of a predicate; an extractor may bring others than {@link predicates}. */
export const predicateSchema = z.string().regex(/^[a-z][a-z0-9_]{0,59}$/);

export const logIdSchema = textSchema(100);
/** Sessions that agents name, and ids of other programs. */
export const logSessionIdSchema = z.string().regex(/^[\w.:@-]{1,200}$/);
const timeSchema = z.iso.datetime({ offset: true });
const limitSchema = z.int().min(1).max(200);
const cursorSchema = z.string().min(1).max(300);
/** Holds the key of an entity, where a character may take six, and four for three. */
const entityCursorSchema = z.string().min(1).max(5_000);

/** `POST /api/v1/logs`: text or turns. */
export const submitLogInputSchema = z
  .strictObject({
    title: textSchema(500).optional(),
    content: z.string().min(1).max(maxLogCharacters).optional().describe("Plain text. Either this or `turns`."),
    turns: z
      .array(turnSchema)
      .min(1)
      .max(maxLogTurns)
      .optional()
      .describe("Turns of a session. Either this or `content`."),
    sessionId: logSessionIdSchema.optional(),
    dir: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        "Where it happened: the absolute path of a directory that the caller may use. Needed with a token for some folders only.",
      ),
    observedAt: timeSchema.optional().describe("When it happened; now by default."),
  })
  .refine(({ content, turns }) => (content === undefined) !== (turns === undefined), {
    error: "Give either `content` or `turns`.",
  })
  .meta({ id: "SubmitLogInput" });

/** What a list shows of an entry. */
export const logEntrySchema = z
  .object({
    logId: z.string(),
    source: logSourceSchema,
    sessionId: z.string().nullable(),
    dir: z.string().nullable().describe("Where it happened; null when it is of no place."),
    title: z.string().nullable(),
    status: logStatusSchema.describe("`pending`: nothing is derived from it yet."),
    failure: z.string().nullable(),
    observedAt: z.string().describe("When it happened, ISO 8601 UTC."),
    recordedAt: z.string().describe("When it was recorded, ISO 8601 UTC."),
  })
  .meta({ id: "LogEntry" });

export const entitySchema = z
  .object({ entityId: z.string(), type: entityTypeSchema, key: z.string().describe("Untrusted: it comes from a log.") })
  .meta({ id: "LogEntity" });

/** One episode's assertion of a statement, with the time that it held. */
export const factSchema = z
  .object({
    factId: z.string(),
    logId: z.string(),
    statementId: z.string(),
    subject: entitySchema,
    predicate: z.string(),
    object: entitySchema.nullable(),
    value: z.string().nullable().describe("Where the object is no entity."),
    validFrom: z.string(),
    validTo: z.string().nullable().describe("Computed; null while it holds."),
    recordedAt: z.string(),
    extractor: z.string(),
  })
  .meta({ id: "LogFact" });

/** `GET /api/v1/logs/{id}` */
export const logDetailSchema = logEntrySchema
  .extend({
    content: z.string().nullable().describe("Secrets masked."),
    turns: z.array(turnSchema).nullable().describe("Secrets masked, long texts cut, without thinking."),
    episode: z.object({ characters: z.int(), chunks: z.int() }).nullable(),
    facts: z.array(factSchema).describe("At most 1,000."),
    entities: z.array(entitySchema),
  })
  .meta({ id: "LogDetail" });

export const listLogsInputSchema = z
  .strictObject({
    limit: limitSchema.optional().describe("50 by default."),
    cursor: cursorSchema.optional(),
    source: logSourceSchema.optional(),
    status: logStatusSchema.optional(),
    sessionId: logSessionIdSchema.optional(),
  })
  .meta({ id: "ListLogsInput" });

export const logPageSchema = z
  .object({ logs: z.array(logEntrySchema).describe("The newest first."), nextCursor: z.string().nullable() })
  .meta({ id: "LogPage" });

export const searchLogsInputSchema = z
  .strictObject({
    q: z.string().min(1).max(1_000),
    limit: limitSchema.optional().describe("20 by default."),
    source: logSourceSchema.optional(),
    status: logStatusSchema.optional(),
    sessionId: logSessionIdSchema.optional(),
  })
  .meta({ id: "SearchLogsInput" });

export const logHitSchema = z.object({
  log: logEntrySchema,
  snippet: z.string().describe("The text around the match. Untrusted: it comes from a log."),
  score: z.number().describe("Larger is better."),
});
export const logSearchSchema = z
  .object({
    hits: z.array(logHitSchema).describe("Best first."),
    hasMore: z.boolean(),
    partial: z.boolean().describe("Whether only the newest entries with these words were looked at: there are many."),
  })
  .meta({ id: "LogSearch" });

export const factsInputSchema = z
  .strictObject({
    subject: textSchema(700).optional().describe("An entity's id, or `Type:key`."),
    predicate: predicateSchema.optional(),
    object: textSchema(700).optional().describe("An entity's id, or `Type:key`."),
    asOf: timeSchema.optional().describe("Only what held then."),
    knownAt: timeSchema.optional().describe("As if nothing had been recorded since."),
    limit: limitSchema.optional().describe("100 by default."),
    cursor: cursorSchema.optional(),
  })
  .meta({ id: "FactsInput" });

export const factPageSchema = z
  .object({ facts: z.array(factSchema).describe("The newest first."), nextCursor: z.string().nullable() })
  .meta({ id: "FactPage" });

export const entitiesInputSchema = z
  .strictObject({
    type: entityTypeSchema.optional(),
    q: textSchema(200).optional().describe("What its key holds, in any case."),
    limit: limitSchema.optional().describe("50 by default."),
    cursor: entityCursorSchema.optional(),
  })
  .meta({ id: "EntitiesInput" });

export const entityPageSchema = z
  .object({ entities: z.array(entitySchema), nextCursor: z.string().nullable() })
  .meta({ id: "EntityPage" });

/** `GET /api/v1/entities/{entityId}/timeline` */
export const timelineInputSchema = factsInputSchema
  .pick({ asOf: true, knownAt: true, limit: true, cursor: true })
  .meta({ id: "TimelineInput" });

/** The seed's body of `DELETE /api/v1/logs/{logId}`. */
export const deleteLogInputSchema = z.strictObject({ id: logIdSchema }).meta({ id: "DeleteLogInput" });

const deletedCounts = { statements: z.int(), entities: z.int(), facts: z.int() } as const;

/** @see the seed, "Log deletion result": rows that were really removed. */
export const logDeletionSchema = z
  .object({
    success: z.boolean(),
    message: z.string(),
    deleted: z.object({ episode: z.boolean(), ...deletedCounts }),
  })
  .meta({ id: "LogDeletion" });

/** All entries of a session at once (ours). */
export const sessionLogDeletionSchema = z
  .object({
    success: z.boolean(),
    message: z.string(),
    deleted: z.object({ logs: z.int(), episodes: z.int(), ...deletedCounts }),
  })
  .meta({ id: "SessionLogDeletion" });

/** What a deletion would remove, and what would stay because other entries share it. */
export const deletionPreviewSchema = z
  .object({
    logId: z.string(),
    removed: z.object({ episode: z.boolean(), ...deletedCounts }),
    shared: z.object({ statements: z.int(), entities: z.int() }),
  })
  .meta({ id: "LogDeletionPreview" });

/** `POST /api/v1/sessions/{sessionId}/record`: what came of it. */
export const sessionRecordedSchema = z
  .object({
    outcome: z
      .enum(["recorded", "known", "suppressed"])
      .describe("`known`: all of it was there. `suppressed`: what was not there was deleted before."),
    logIds: z.array(z.string()).describe("Entries that were made now."),
    turns: z.int().describe("Turns that were recorded now."),
  })
  .meta({ id: "SessionRecorded" });

export type DeletionPreview = z.infer<typeof deletionPreviewSchema>;
export type EntitiesInput = z.infer<typeof entitiesInputSchema>;
export type EntityPage = z.infer<typeof entityPageSchema>;
export type EntityType = z.infer<typeof entityTypeSchema>;
export type FactPage = z.infer<typeof factPageSchema>;
export type FactsInput = z.infer<typeof factsInputSchema>;
export type ListLogsInput = z.infer<typeof listLogsInputSchema>;
export type LogDeletion = z.infer<typeof logDeletionSchema>;
export type LogDetail = z.infer<typeof logDetailSchema>;
export type LogEntity = z.infer<typeof entitySchema>;
export type LogEntry = z.infer<typeof logEntrySchema>;
export type LogFact = z.infer<typeof factSchema>;
export type LogHit = z.infer<typeof logHitSchema>;
export type LogPage = z.infer<typeof logPageSchema>;
export type LogSearch = z.infer<typeof logSearchSchema>;
export type SearchLogsInput = z.infer<typeof searchLogsInputSchema>;
export type SessionLogDeletion = z.infer<typeof sessionLogDeletionSchema>;
export type TimelineInput = z.infer<typeof timelineInputSchema>;
export type SessionRecorded = z.infer<typeof sessionRecordedSchema>;
export type SubmitLogInput = z.infer<typeof submitLogInputSchema>;
