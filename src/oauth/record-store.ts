import type { Insertable, Kysely, Selectable } from "kysely";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";

/** What the authorization server keeps. A client's assertions (RFC 7523) are kept so that each is good once. */
export type RecordKind =
  | "AuthorizationCode"
  | "AccessToken"
  | "RefreshToken"
  | "Grant"
  | "DeviceCode"
  | "ReplayDetection";

/** A row of `oauth_records`, its payload read. */
export interface OAuthRecord extends Omit<Selectable<Tables["oauth_records"]>, "payload"> {
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A change that a request makes, written with all others of the request in one transaction. */
export type RecordWrite =
  | { readonly kind: "save"; readonly row: Insertable<Tables["oauth_records"]> }
  /** Fails the whole transaction when it was consumed before. */
  | { readonly kind: "consume"; readonly recordKind: RecordKind; readonly idHash: string }
  /** The grant was used, and lives on until then. */
  | { readonly kind: "prolong"; readonly grantHash: string; readonly expiresAt: number };

/** SQL of what the authorization server keeps, by the SHA-256 of the ids: the ids are the tokens. */
export interface RecordStore {
  find(recordKind: RecordKind, id: string): Promise<OAuthRecord | null>;
  /**
   * All of it, or nothing.
   * @returns false when something was to be consumed that is consumed, or gone
   */
  write(writes: readonly RecordWrite[]): Promise<boolean>;
  remove(recordKind: RecordKind, idHash: string): Promise<void>;
  /** Ends what a grant gave: one kind of it, or all and the grant itself. @returns whether there was anything */
  endGrant(grantHash: string, recordKind?: RecordKind): Promise<boolean>;
}

export const payloadSchema = z.record(z.string(), z.unknown());

/** @see RecordStore */
export function createRecordStore(deps: { readonly db: Kysely<Tables>; readonly clock: Clock }): RecordStore {
  const { db, clock } = deps;
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

    async write(writes) {
      if (writes.length === 0) return true;
      try {
        await db.transaction().execute(async (trx) => {
          for (const write of writes) await apply(trx, write, clock.now());
        });
        return true;
      } catch (error) {
        if (error instanceof ConsumedBefore) return false;
        throw error;
      }
    },

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

/** Undoes the transaction. */
class ConsumedBefore extends Error {}

async function apply(db: Kysely<Tables>, write: RecordWrite, now: number): Promise<void> {
  if (write.kind === "save") {
    const { kind: _kind, id_hash: _id, created_at: _created, ...changes } = write.row;
    await db
      .insertInto("oauth_records")
      .values(write.row)
      .onConflict((conflict) => conflict.columns(["id_hash", "kind"]).doUpdateSet(changes))
      .execute();
    return;
  }
  if (write.kind === "prolong") {
    await db
      .updateTable("oauth_records")
      .set({ expires_at: write.expiresAt, last_used_at: now })
      .where("id_hash", "=", write.grantHash)
      .where("kind", "=", "Grant")
      .execute();
    return;
  }
  // One conditional update: of two exchanges of one code that both found it unused, the later changes nothing.
  const { numUpdatedRows } = await db
    .updateTable("oauth_records")
    .set({ consumed_at: now })
    .where("id_hash", "=", write.idHash)
    .where("kind", "=", write.recordKind)
    .where("consumed_at", "is", null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw new ConsumedBefore();
}
