import type { Insertable, Kysely, Selectable, Updateable } from "kysely";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";
import { createCommits } from "./commits.ts";
import type { AuditNote, NoteAudit } from "./ports.ts";

/** What the authorization server keeps. */
export type RecordKind = "AuthorizationCode" | "AccessToken" | "RefreshToken" | "Grant" | "DeviceCode";

/** A row of `oauth_records`, its payload read. */
export interface OAuthRecord extends Omit<Selectable<Tables["oauth_records"]>, "payload"> {
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A change that a request makes. */
export type RecordWrite =
  /** Only the first may be one of these two: nothing that follows happens when it was consumed, or decided, before. */
  | { readonly kind: "consume"; readonly recordKind: RecordKind; readonly idHash: string }
  | { readonly kind: "decide"; readonly userCode: string; readonly changes: Updateable<Tables["oauth_records"]> }
  | { readonly kind: "save"; readonly row: Insertable<Tables["oauth_records"]> }
  /** The grant was used, and lives on until then. */
  | { readonly kind: "prolong"; readonly grantHash: string; readonly expiresAt: number }
  /** The client was let in; of one that is known by its document, what that said is kept for lists. */
  | {
      readonly kind: "let-in";
      readonly clientId: string;
      readonly document: { readonly name: string; readonly metadata: string } | null;
    }
  | { readonly kind: "note"; readonly note: AuditNote };

/** SQL of what the authorization server keeps, by the SHA-256 of the ids: the ids are the tokens. */
export interface RecordStore {
  find(recordKind: RecordKind, id: string): Promise<OAuthRecord | null>;
  /** A device's code that waits for its decision. */
  findByUserCode(userCode: string): Promise<OAuthRecord | null>;
  /**
   * All of it in one transaction, or nothing.
   * @returns false when something was to be consumed, or decided, that was before, or is gone
   */
  write(writes: readonly RecordWrite[]): Promise<boolean>;
  remove(recordKind: RecordKind, idHash: string): Promise<void>;
  /** Ends what a grant gave: one kind of it, or all and the grant itself. @returns whether there was anything */
  endGrant(grantHash: string, recordKind?: RecordKind): Promise<boolean>;
}

export const payloadSchema = z.record(z.string(), z.unknown());

/** @see RecordStore */
export function createRecordStore(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly noteAudit: NoteAudit;
}): RecordStore {
  const { db, clock } = deps;
  const commits = createCommits<readonly RecordWrite[], boolean, Kysely<Tables>>({
    begin: (task) => db.transaction().execute(task),
    async apply(within, writes) {
      for (const write of writes) if (!(await apply(within, write, { ...deps, now: clock.now() }))) return false;
      return true;
    },
  });

  return {
    async find(recordKind, id) {
      const row = await db
        .selectFrom("oauth_records")
        .selectAll()
        .where("id_hash", "=", sha256(id))
        .where("kind", "=", recordKind)
        .executeTakeFirst();
      return row === undefined ? null : readRecord(row);
    },

    async findByUserCode(userCode) {
      const row = await db
        .selectFrom("oauth_records")
        .selectAll()
        .where("user_code_hash", "=", sha256(userCode))
        .where("kind", "=", "DeviceCode")
        .where("expires_at", ">", clock.now())
        .executeTakeFirst();
      return row === undefined ? null : readRecord(row);
    },

    write: async (writes) => writes.length === 0 || commits.add(writes),

    async remove(recordKind, idHash) {
      await db.deleteFrom("oauth_records").where("id_hash", "=", idHash).where("kind", "=", recordKind).execute();
    },

    async endGrant(grantHash, recordKind) {
      let query = db.deleteFrom("oauth_records").where("grant_hash", "=", grantHash);
      if (recordKind !== undefined) query = query.where("kind", "=", recordKind);
      const { numDeletedRows } = await query.executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}

/** A row with its payload read. */
export function readRecord(row: Selectable<Tables["oauth_records"]>): OAuthRecord {
  return { ...row, payload: payloadSchema.parse(JSON.parse(row.payload)) };
}

interface Applying {
  readonly noteAudit: NoteAudit;
  readonly now: number;
}

/** @returns false when it was to be consumed, or decided, and was before */
async function apply(db: Kysely<Tables>, write: RecordWrite, { noteAudit, now }: Applying): Promise<boolean> {
  switch (write.kind) {
    case "consume":
      return consume(db, write, now);
    case "decide":
      return decide(db, write);
    case "save":
      await save(db, write.row);
      return true;
    case "prolong":
      await db
        .updateTable("oauth_records")
        .set({ expires_at: write.expiresAt, last_used_at: now })
        .where("id_hash", "=", write.grantHash)
        .where("kind", "=", "Grant")
        .execute();
      return true;
    case "let-in":
      await letIn(db, write, now);
      return true;
    case "note":
      await noteAudit(write.note, db);
      return true;
  }
}

/** One conditional update: of two exchanges of one code that both found it unused, the later changes nothing. */
async function consume(
  db: Kysely<Tables>,
  { recordKind, idHash }: Extract<RecordWrite, { readonly kind: "consume" }>,
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("oauth_records")
    .set({ consumed_at: now })
    .where("id_hash", "=", idHash)
    .where("kind", "=", recordKind)
    .where("consumed_at", "is", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

async function decide(
  db: Kysely<Tables>,
  { userCode, changes }: Extract<RecordWrite, { readonly kind: "decide" }>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("oauth_records")
    .set({ ...changes, user_code_hash: null })
    .where("user_code_hash", "=", sha256(userCode))
    .where("kind", "=", "DeviceCode")
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

async function save(db: Kysely<Tables>, row: Insertable<Tables["oauth_records"]>): Promise<void> {
  const { kind: _kind, id_hash: _id, created_at: _created, ...changes } = row;
  await db
    .insertInto("oauth_records")
    .values(row)
    .onConflict((conflict) => conflict.columns(["id_hash", "kind"]).doUpdateSet(changes))
    .execute();
}

async function letIn(
  db: Kysely<Tables>,
  { clientId, document }: Extract<RecordWrite, { readonly kind: "let-in" }>,
  now: number,
): Promise<void> {
  if (document === null) {
    await db.updateTable("oauth_clients").set({ last_used_at: now }).where("client_id", "=", clientId).execute();
    return;
  }
  const changes = { ...document, last_used_at: now };
  await db
    .insertInto("oauth_clients")
    .values({ client_id: clientId, origin: "document", created_at: now, ...changes })
    .onConflict((conflict) => conflict.column("client_id").doUpdateSet(changes))
    .execute();
}
