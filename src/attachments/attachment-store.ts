import type { Kysely, Selectable } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";
import { type Attachment, attachmentSchema, maxSessionAttachmentBytes } from "../wire/attachments.ts";
import { attachmentError, attachmentNotFound } from "./errors.ts";

export type AttachmentRow = Selectable<Tables["attachments"]>;

/** A caller who uses attachments. */
export interface AttachmentUser {
  readonly accountId: string;
  /** Whether an unused file belongs to the caller, given the key of its uploader. */
  readonly owns: (addedBy: string | null) => boolean;
}

/** A prompt's use of attachments. */
export interface AttachmentClaim extends AttachmentUser {
  readonly promptId: string;
  /** Without repetitions, in the order of the prompt. */
  readonly attachmentIds: readonly string[];
  readonly sessionId: string;
  /** Every id of the session. */
  readonly sessionIds: readonly string[];
}

/** The rows of attachments and their use. */
export interface AttachmentStore {
  insert(row: AttachmentRow): Promise<void>;
  /** The attachments with these ids, in no order; without `accountId`, of any account. */
  among(attachmentIds: readonly string[], accountId?: string): Promise<readonly AttachmentRow[]>;
  /** The account's attachments that no prompt uses. */
  unusedOf(accountId: string): Promise<{ readonly count: number; readonly sizeBytes: number }>;
  sizeOfSession(sessionIds: readonly string[]): Promise<number>;
  /**
   * Gives attachments to a prompt and its session, as part of the transaction that stores the prompt. From then on they belong to that
   * session and are never swept.
   * @throws PosternError `attachment_not_found` | `attachment_too_large` (the session's limit)
   */
  claim(claim: AttachmentClaim, transaction: Kysely<Tables>): Promise<void>;
  /** Releases attachments that a refused prompt had taken, unless another prompt uses them. */
  release(promptId: string): Promise<void>;
  /** The attachments of these prompts, in the order of each. */
  ofPrompts(promptIds: readonly string[]): Promise<ReadonlyMap<string, readonly AttachmentRow[]>>;
  /** @throws PosternError `attachment_not_found` | `attachment_in_use` */
  remove(attachmentId: string, accountId: string): Promise<void>;
  /** @returns the ids of removed attachments */
  removeOfSession(sessionIds: readonly string[]): Promise<readonly string[]>;
  /** Removes what no prompt used within a day. @returns the ids */
  removeUnused(): Promise<readonly string[]>;
}

/** Long enough for a draft that is finished the next morning. */
const unusedForMs = 24 * 3_600_000;

export function createAttachmentStore({
  db,
  clock,
}: {
  readonly db: Kysely<Tables>;
  readonly clock: Pick<Clock, "now">;
}): AttachmentStore {
  /** Locks the attachment's row until the end of the transaction, so that data read after it stays valid. */
  async function lockRow(on: Kysely<Tables>, attachmentId: string, accountId?: string): Promise<AttachmentRow | null> {
    const query = on
      .updateTable("attachments")
      .set((eb) => ({ created_at: eb.ref("created_at") }))
      .where("attachment_id", "=", attachmentId)
      .returningAll();
    return (
      (await (accountId === undefined ? query : query.where("account_id", "=", accountId)).executeTakeFirst()) ?? null
    );
  }

  async function sizeOf(on: Kysely<Tables>, sessionIds: readonly string[]): Promise<number> {
    const { sum } = await on
      .selectFrom("attachments")
      .select((eb) => eb.fn.coalesce(eb.fn.sum<number>("size_bytes"), eb.lit(0)).as("sum"))
      .where("session_id", "in", [...sessionIds])
      .executeTakeFirstOrThrow();
    return sum;
  }

  return {
    async insert(row) {
      await db.insertInto("attachments").values(row).execute();
    },

    async among(attachmentIds, accountId) {
      if (attachmentIds.length === 0) return [];
      const query = db
        .selectFrom("attachments")
        .selectAll()
        .where("attachment_id", "in", [...attachmentIds]);
      return (accountId === undefined ? query : query.where("account_id", "=", accountId)).execute();
    },

    async unusedOf(accountId) {
      const { count, sum } = await db
        .selectFrom("attachments")
        .select((eb) => [
          eb.fn.countAll<number>().as("count"),
          eb.fn.coalesce(eb.fn.sum<number>("size_bytes"), eb.lit(0)).as("sum"),
        ])
        .where("account_id", "=", accountId)
        .where("session_id", "is", null)
        .executeTakeFirstOrThrow();
      return { count, sizeBytes: sum };
    },

    sizeOfSession: (sessionIds) => sizeOf(db, sessionIds),

    async claim({ promptId, accountId, owns, attachmentIds, sessionId, sessionIds }, transaction) {
      // This update locks the session's row, so that two prompts at once cannot both pass the session's limit.
      await transaction
        .updateTable("sessions")
        .set((eb) => ({ updated_at: eb.ref("updated_at") }))
        .where("session_id", "=", sessionId)
        .execute();
      const links = attachmentIds.map((attachmentId, position) => ({ attachmentId, position }));
      // Always in the same order, so that two prompts never wait for each other.
      for (const { attachmentId, position } of links.toSorted((a, b) => (a.attachmentId < b.attachmentId ? -1 : 1))) {
        const row = await lockRow(transaction, attachmentId, accountId);
        if (row === null) throw attachmentNotFound(attachmentId);
        if (row.session_id !== null && !sessionIds.includes(row.session_id)) {
          throw attachmentError(
            "attachment_not_found",
            `Attachment ${attachmentId} belongs to another session. Upload the file again for this one.`,
          );
        }
        const isNew = row.session_id === null;
        if (isNew && !owns(row.added_by)) throw attachmentNotFound(attachmentId);
        if (isNew) {
          await transaction
            .updateTable("attachments")
            .set({ session_id: sessionId })
            .where("attachment_id", "=", attachmentId)
            .execute();
        }
        await transaction
          .insertInto("prompt_attachments")
          .values({ prompt_id: promptId, attachment_id: attachmentId, position, newly_taken: isNew ? 1 : 0 })
          .execute();
      }
      if ((await sizeOf(transaction, sessionIds)) > maxSessionAttachmentBytes) throw sessionFull();
    },

    release: (promptId) =>
      db.transaction().execute(async (trx) => {
        const taken = await trx
          .deleteFrom("prompt_attachments")
          .where("prompt_id", "=", promptId)
          .returning(["attachment_id", "newly_taken"])
          .execute();
        const freed = taken
          .flatMap(({ attachment_id: id, newly_taken: isNew }) => (isNew === 1 ? [id] : []))
          .toSorted();
        for (const id of freed) {
          if ((await lockRow(trx, id)) === null) continue;
          const { numUpdatedRows } = await trx
            .updateTable("prompt_attachments")
            .set({ newly_taken: 1 }) // it is released when the last prompt that uses it is refused
            .where("attachment_id", "=", id)
            .executeTakeFirstOrThrow();
          if (numUpdatedRows > 0n) continue;
          await trx.updateTable("attachments").set({ session_id: null }).where("attachment_id", "=", id).execute();
        }
      }),

    async ofPrompts(promptIds) {
      const found = new Map<string, AttachmentRow[]>();
      if (promptIds.length === 0) return found;
      const rows = await db
        .selectFrom("prompt_attachments")
        .innerJoin("attachments", "attachments.attachment_id", "prompt_attachments.attachment_id")
        .selectAll("attachments")
        .select("prompt_attachments.prompt_id")
        .where("prompt_attachments.prompt_id", "in", [...promptIds])
        .orderBy("prompt_attachments.position")
        .execute();
      for (const { prompt_id: promptId, ...row } of rows) found.set(promptId, [...(found.get(promptId) ?? []), row]);
      return found;
    },

    remove: (attachmentId, accountId) =>
      db.transaction().execute(async (trx) => {
        if ((await lockRow(trx, attachmentId, accountId)) === null) throw attachmentNotFound(attachmentId);
        const waiting = await trx
          .selectFrom("prompt_attachments")
          .innerJoin("queued_prompts", "queued_prompts.prompt_id", "prompt_attachments.prompt_id")
          .select("queued_prompts.session_id")
          .where("prompt_attachments.attachment_id", "=", attachmentId)
          .where("queued_prompts.state", "in", ["queued", "sent"])
          .executeTakeFirst();
        if (waiting !== undefined) {
          throw attachmentError(
            "attachment_in_use",
            `A prompt of session ${waiting.session_id} that is waiting for the agent uses attachment ${attachmentId}. Delete it later.`,
          );
        }
        await trx.deleteFrom("attachments").where("attachment_id", "=", attachmentId).execute();
      }),

    async removeOfSession(sessionIds) {
      const rows = await db
        .deleteFrom("attachments")
        .where("session_id", "in", [...sessionIds])
        .returning("attachment_id")
        .execute();
      return rows.map((row) => row.attachment_id);
    },

    async removeUnused() {
      const before = clock.now() - unusedForMs;
      const rows = await db
        .deleteFrom("attachments")
        // The statement checks the conditions itself, so that an attachment that a prompt takes at this moment is kept.
        .where("session_id", "is", null)
        .where("created_at", "<", before)
        .returning("attachment_id")
        .execute();
      return rows.map((row) => row.attachment_id);
    },
  };
}

export function sessionFull() {
  const megabytes = maxSessionAttachmentBytes / 1024 / 1024;
  return attachmentError(
    "attachment_too_large",
    `The files of this session exceed ${megabytes} MB. Delete some of them, or start a new session.`,
  );
}

const mediaTypeSchema = attachmentSchema.shape.mediaType;

export function attachmentOf(row: AttachmentRow): Attachment {
  return {
    attachmentId: row.attachment_id,
    name: row.name,
    mediaType: mediaTypeSchema.parse(row.media_type),
    sizeBytes: row.size_bytes,
    sha256: row.sha256,
  };
}
