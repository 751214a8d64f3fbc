import { z } from "zod";
import { textSchema } from "./text.ts";
import { turnSchema } from "./turn.ts";

/** Maximum length of an entry. A longer session is split into several. */
export const maxLogCharacters = 1_000_000;
/** Maximum number of turns in an entry. */
export const maxLogTurns = 1_000;

export const logSourceSchema = z.enum(["session", "api"]);
export const logStatusSchema = z.enum(["pending", "ready", "failed"]);

/** Types of entities in statements. */
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

/** Predicates with one value at a time: a fact ends when the next one about the same subject starts. */
export const singleValuedPredicates = ["current_branch", "last_exit", "status"] as const;
/** Predicates of the built-in extractors. */
export const predicates = [
  ...singleValuedPredicates,
  ...["in_repository", "by_agent", "read", "edited", "ran", "used", "installed", "committed", "mentioned"],
  ...["decided", "remembered"],
] as const;
/** A predicate; an extractor can add others to {@link predicates}. */
export const predicateSchema = z.string().regex(/^[a-z][a-z0-9_]{0,59}$/);

export const logIdSchema = textSchema(100);
/** Session ids of agents and of other programs. */
export const logSessionIdSchema = z.string().regex(/^[\w.:@-]{1,200}$/);
const timeSchema = z.iso.datetime({ offset: true });
const limitSchema = z.int().min(1).max(200);
const cursorSchema = z.string().min(1).max(300);
/** Contains an entity's key: up to six bytes per character, plus a third for base64. */
const entityCursorSchema = z.string().min(1).max(5_000);

/** `POST /api/v1/logs`: text or turns. */
export const submitLogInputSchema = z
  .strictObject({
    title: textSchema(500).optional(),
    content: z
      .string()
      .min(1)
      .max(maxLogCharacters)
      .optional()
      .describe("Plain text. Provide either `content` or `turns`."),
    turns: z
      .array(turnSchema)
      .min(1)
      .max(maxLogTurns)
      .optional()
      .describe("Turns of a session. Provide either `content` or `turns`."),
    sessionId: logSessionIdSchema.optional(),
    dir: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        "Absolute path of the directory that the entry is about. You must have access to it. Required if your token is limited to folders.",
      ),
    observedAt: timeSchema.optional().describe("When it happened. Defaults to now."),
  })
  .refine(({ content, turns }) => (content === undefined) !== (turns === undefined), {
    error: "Provide either `content` or `turns`.",
  })
  .meta({ id: "SubmitLogInput" });

/** A memory entry in a list. */
export const logEntrySchema = z
  .object({
    logId: z.string(),
    source: logSourceSchema,
    sessionId: z.string().nullable(),
    dir: z.string().nullable().describe("Directory that the entry is about. Null if none was given."),
    title: z.string().nullable(),
    status: logStatusSchema.describe("`pending`: facts have not been extracted yet."),
    failure: z.string().nullable(),
    observedAt: z.string().describe("When it happened, ISO 8601 UTC."),
    recordedAt: z.string().describe("When it was recorded, ISO 8601 UTC."),
  })
  .meta({ id: "LogEntry" });

export const entitySchema = z
  .object({ entityId: z.string(), type: entityTypeSchema, key: z.string().describe("Untrusted transcript content.") })
  .meta({ id: "LogEntity" });

/** A statement asserted by one entry, with its period of validity. */
export const factSchema = z
  .object({
    factId: z.string(),
    logId: z.string(),
    statementId: z.string(),
    subject: entitySchema,
    predicate: z.string(),
    object: entitySchema.nullable(),
    value: z.string().nullable().describe("Set if the object is not an entity."),
    validFrom: z.string(),
    validTo: z.string().nullable().describe("Null while the fact is current. Computed."),
    recordedAt: z.string(),
    extractor: z.string(),
  })
  .meta({ id: "LogFact" });

/** `GET /api/v1/logs/{id}` */
export const logDetailSchema = logEntrySchema
  .extend({
    content: z.string().nullable().describe("Secrets are masked."),
    turns: z.array(turnSchema).nullable().describe("Secrets are masked, long text is cut, thinking is left out."),
    episode: z.object({ characters: z.int(), chunks: z.int() }).nullable(),
    facts: z.array(factSchema).describe("At most 1,000."),
    entities: z.array(entitySchema),
  })
  .meta({ id: "LogDetail" });

export const listLogsInputSchema = z
  .strictObject({
    limit: limitSchema.optional().describe("Defaults to 50."),
    cursor: cursorSchema.optional(),
    source: logSourceSchema.optional(),
    status: logStatusSchema.optional(),
    sessionId: logSessionIdSchema.optional(),
  })
  .meta({ id: "ListLogsInput" });

export const logPageSchema = z
  .object({ logs: z.array(logEntrySchema).describe("Newest first."), nextCursor: z.string().nullable() })
  .meta({ id: "LogPage" });

export const searchLogsInputSchema = z
  .strictObject({
    q: z.string().min(1).max(1_000),
    limit: limitSchema.optional().describe("Defaults to 20."),
    source: logSourceSchema.optional(),
    status: logStatusSchema.optional(),
    sessionId: logSessionIdSchema.optional(),
  })
  .meta({ id: "SearchLogsInput" });

export const logHitSchema = z.object({
  log: logEntrySchema,
  snippet: z.string().describe("Text around the match. Untrusted transcript content."),
  score: z.number().describe("Higher is better."),
});
export const logSearchSchema = z
  .object({
    hits: z.array(logHitSchema).describe("Best match first."),
    hasMore: z.boolean(),
    partial: z.boolean().describe("True if only the newest matching entries were ranked, because there are too many."),
  })
  .meta({ id: "LogSearch" });

export const factsInputSchema = z
  .strictObject({
    subject: textSchema(700).optional().describe("Entity id or `Type:key`."),
    predicate: predicateSchema.optional(),
    object: textSchema(700).optional().describe("Entity id or `Type:key`."),
    asOf: timeSchema.optional().describe("Only facts that were current at this time."),
    knownAt: timeSchema.optional().describe("Ignores everything recorded after this time."),
    limit: limitSchema.optional().describe("Defaults to 100."),
    cursor: cursorSchema.optional(),
  })
  .meta({ id: "FactsInput" });

export const factPageSchema = z
  .object({ facts: z.array(factSchema).describe("Newest first."), nextCursor: z.string().nullable() })
  .meta({ id: "FactPage" });

export const entitiesInputSchema = z
  .strictObject({
    type: entityTypeSchema.optional(),
    q: textSchema(200).optional().describe("Text in the key, case-insensitive."),
    limit: limitSchema.optional().describe("Defaults to 50."),
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

/** The body of `DELETE /api/v1/logs/{logId}`. */
export const deleteLogInputSchema = z.strictObject({ id: logIdSchema }).meta({ id: "DeleteLogInput" });

const deletedCounts = { statements: z.int(), entities: z.int(), facts: z.int() } as const;

/** Counts the rows that were actually removed. */
export const logDeletionSchema = z
  .object({
    success: z.boolean(),
    message: z.string(),
    deleted: z.object({ episode: z.boolean(), ...deletedCounts }),
  })
  .meta({ id: "LogDeletion" });

/** The result of deleting all entries of a session at once. The specification has no such route. */
export const sessionLogDeletionSchema = z
  .object({
    success: z.boolean(),
    message: z.string(),
    deleted: z.object({ logs: z.int(), episodes: z.int(), ...deletedCounts }),
  })
  .meta({ id: "SessionLogDeletion" });

/** What a deletion would remove, and what it would keep because other entries share it. */
export const deletionPreviewSchema = z
  .object({
    logId: z.string(),
    removed: z.object({ episode: z.boolean(), ...deletedCounts }),
    shared: z.object({ statements: z.int(), entities: z.int() }),
  })
  .meta({ id: "LogDeletionPreview" });

/** `POST /api/v1/sessions/{sessionId}/record` */
export const sessionRecordedSchema = z
  .object({
    outcome: z
      .enum(["recorded", "known", "suppressed"])
      .describe("`known`: everything was already recorded. `suppressed`: the rest had been deleted."),
    logIds: z.array(z.string()).describe("Entries created by this call."),
    turns: z.int().describe("Turns recorded by this call."),
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
