import type { Kysely, Selectable, Updateable } from "kysely";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { newUuid, sha256 } from "../core/ids.ts";
import { createCommits } from "../storage/commits.ts";
import { compiledQuery } from "../storage/compiled-query.ts";
import type { Tables } from "../storage/schema.ts";
import type { Scope } from "../wire/access.ts";
import { type Approval, createApprove } from "./grants.ts";
import { lifetimes } from "./lifetimes.ts";
import type { AuditNote, NoteAudit, SecretBox } from "./ports.ts";
import { resourceNames, type TokenResource } from "./resources.ts";

/** The kinds of records that the authorization server stores. */
export type RecordKind = "AuthorizationCode" | "AccessToken" | "RefreshToken" | "Grant" | "DeviceCode";

/** A row of `oauth_records`, with its payload parsed. */
export interface OAuthRecord extends Omit<Selectable<Tables["oauth_records"]>, "payload"> {
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A change made by a request. */
export type RecordWrite =
  /** Only the first write of a request can be `consume` or `decide`. If the record was already consumed or decided, the rest is not written. */
  | { readonly kind: "consume"; readonly recordKind: RecordKind; readonly idHash: string }
  | { readonly kind: "decide"; readonly userCodeHash: string; readonly changes: Updateable<Tables["oauth_records"]> }
  | { readonly kind: "save"; readonly row: Selectable<Tables["oauth_records"]> }
  /** The grant was used, and its expiry is extended. */
  | { readonly kind: "prolong"; readonly grantHash: string; readonly expiresAt: number }
  /** Keeps only the newest used refresh tokens of the grant, to detect reuse. */
  | { readonly kind: "trim"; readonly grantHash: string }
  | Approval
  | { readonly kind: "note"; readonly note: AuditNote };

/** Records of the authorization server. They are stored by the SHA-256 of their ids, because the ids are the tokens. */
export interface RecordStore {
  find(recordKind: RecordKind, id: string): Promise<OAuthRecord | null>;
  /** The stored form of a user code. User codes are short, so a plain hash would not hide them. */
  userCodeHash(userCode: string): string;
  /** Finds a device's code that waits for a decision. */
  findByUserCode(userCode: string): Promise<OAuthRecord | null>;
  /**
   * Applies all writes in one transaction.
   * @returns false, with nothing written, when a record to consume or decide was already used or is missing
   */
  write(writes: readonly RecordWrite[]): Promise<boolean>;
  remove(recordKind: RecordKind, idHash: string): Promise<void>;
  /** Revokes what a grant issued: one kind of record, or all including the grant. @returns whether there was anything */
  endGrant(grantHash: string, recordKind?: RecordKind): Promise<boolean>;
}

/** Used refresh tokens of a grant to keep after a trim. Reusing one of them ends the grant. */
const usedTokensKept = 80;

export const payloadSchema = z.record(z.string(), z.unknown());

export function createRecordStore(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly noteAudit: NoteAudit;
  readonly secrets: Pick<SecretBox, "digest">;
}): RecordStore {
  const { db, clock } = deps;
  const userCodeHash = (userCode: string): string => deps.secrets.digest(userCode, "user code");
  const [queries, approve] = [createQueries(), createApprove(deps.noteAudit)];
  const commits = createCommits<readonly RecordWrite[], boolean, Kysely<Tables>>({
    begin: (task) => db.transaction().execute(task),
    async apply(within, writes) {
      for (const write of writes)
        if (!(await apply(within, write, { ...deps, queries, approve, now: clock.now() }))) return false;
      return true;
    },
  });

  return {
    userCodeHash,

    async find(recordKind, id) {
      const { rows } = await queries.find(db, { idHash: sha256(id), recordKind });
      return rows[0] === undefined ? null : readRecord(rows[0]);
    },

    async findByUserCode(userCode) {
      const row = await db
        .selectFrom("oauth_records")
        .selectAll()
        .where("user_code_hash", "=", userCodeHash(userCode))
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

/** Parses the payload of a row. */
export function readRecord(row: Selectable<Tables["oauth_records"]>): OAuthRecord {
  return { ...row, payload: payloadSchema.parse(JSON.parse(row.payload)) };
}

type Queries = ReturnType<typeof createQueries>;

/** Queries that run with every decision and every exchange. */
function createQueries() {
  return {
    find: compiledQuery<{ idHash: string; recordKind: RecordKind }, Selectable<Tables["oauth_records"]>>((db, slot) =>
      db
        .selectFrom("oauth_records")
        .selectAll()
        .where("id_hash", "=", slot("idHash"))
        .where("kind", "=", slot("recordKind")),
    ),

    // One conditional update: if two exchanges both found a code unused, the later one changes nothing.
    consume: compiledQuery<{ idHash: string; recordKind: RecordKind; now: number }>((db, slot) =>
      db
        .updateTable("oauth_records")
        .set({ consumed_at: slot("now") })
        .where("id_hash", "=", slot("idHash"))
        .where("kind", "=", slot("recordKind"))
        .where("consumed_at", "is", null),
    ),

    save: compiledQuery<Selectable<Tables["oauth_records"]>>((db, slot) => {
      const changes = {
        payload: slot("payload"),
        account_id: slot("account_id"),
        client_id: slot("client_id"),
        grant_hash: slot("grant_hash"),
        user_code_hash: slot("user_code_hash"),
        consumed_at: slot("consumed_at"),
        last_used_at: slot("last_used_at"),
        expires_at: slot("expires_at"),
      };
      const key = { kind: slot("kind"), id_hash: slot("id_hash"), created_at: slot("created_at") };
      return db
        .insertInto("oauth_records")
        .values({ ...key, ...changes })
        .onConflict((conflict) => conflict.columns(["id_hash", "kind"]).doUpdateSet(changes));
    }),

    prolong: compiledQuery<{ grantHash: string; expiresAt: number; now: number }>((db, slot) =>
      db
        .updateTable("oauth_records")
        .set({ expires_at: slot("expiresAt"), last_used_at: slot("now") })
        .where("id_hash", "=", slot("grantHash"))
        .where("kind", "=", "Grant"),
    ),
  };
}

interface Applying {
  readonly queries: Queries;
  readonly noteAudit: NoteAudit;
  readonly approve: ReturnType<typeof createApprove>;
  readonly now: number;
}

/** @returns false when the record to consume or decide was already used */
async function apply(
  db: Kysely<Tables>,
  write: RecordWrite,
  { noteAudit, queries, approve, now }: Applying,
): Promise<boolean> {
  switch (write.kind) {
    case "consume": {
      const { numAffectedRows = 0n } = await queries.consume(db, { ...write, now });
      return numAffectedRows > 0n;
    }
    case "decide":
      return decide(db, write);
    case "save":
      await queries.save(db, write.row);
      return true;
    case "prolong":
      await queries.prolong(db, { ...write, now });
      return true;
    case "trim":
      await trim(db, write.grantHash);
      return true;
    case "approval":
      await approve(db, write, now);
      return true;
    case "note":
      await noteAudit(write.note, db);
      return true;
  }
}

async function decide(
  db: Kysely<Tables>,
  { userCodeHash, changes }: Extract<RecordWrite, { readonly kind: "decide" }>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("oauth_records")
    .set({ ...changes, user_code_hash: null })
    .where("user_code_hash", "=", userCodeHash)
    .where("kind", "=", "DeviceCode")
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

async function trim(db: Kysely<Tables>, grantHash: string): Promise<void> {
  const used = db
    .selectFrom("oauth_records")
    .select("id_hash")
    .where("grant_hash", "=", grantHash)
    .where("kind", "=", "RefreshToken")
    .where("consumed_at", "is not", null)
    .orderBy("consumed_at", "desc")
    .orderBy("created_at", "desc")
    .limit(usedTokensKept);
  await db
    .deleteFrom("oauth_records")
    .where("grant_hash", "=", grantHash)
    .where("kind", "=", "RefreshToken")
    .where("consumed_at", "is not", null)
    .where("id_hash", "not in", used)
    .execute();
}

/** The scopes that an account granted a client. */
interface NewGrant {
  readonly accountId: string;
  readonly clientId: string;
  readonly resource: TokenResource;
  readonly scopes: readonly Scope[];
  /** The redirect's host or scheme; null for a device. */
  readonly host: string | null;
}

/**
 * A grant is a connected app, identified by the grant's id. The id is visible to everyone who can see the app, and is not accepted at the
 * authorization server's own routes.
 */
export function newGrant(
  wanted: NewGrant,
  clock: Clock,
): Pick<Approval, "grant"> & { readonly appId: string; readonly write: RecordWrite } {
  const { accountId, clientId, resource, scopes, host } = wanted;
  const appId = newUuid();
  const hash = sha256(appId);
  const now = clock.now();
  const allowed = { resources: { [resourceNames[resource]]: scopes.join(" ") }, host };
  return {
    appId,
    grant: { accountId, hash, host, scopes, payloadEnd: JSON.stringify(allowed).slice(1) },
    write: {
      kind: "save",
      row: {
        kind: "Grant",
        id_hash: hash,
        payload: JSON.stringify({ kind: "Grant", appId, accountId, clientId, ...allowed }),
        account_id: accountId,
        client_id: clientId,
        grant_hash: hash,
        user_code_hash: null,
        consumed_at: null,
        last_used_at: null,
        created_at: now,
        expires_at: now + lifetimes.grantMs,
      },
    },
  };
}
