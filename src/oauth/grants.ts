import { type Kysely, sql } from "kysely";
import { z } from "zod";
import { compiledQuery, type Slot } from "../storage/compiled-query.ts";
import type { Tables } from "../storage/schema.ts";
import type { AuditNote, NoteAudit } from "./ports.ts";

/** An app on this machine listens on a different port each time (RFC 8252 section 7.3). */
const thisMachine = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** The destination of a redirect, as shown on a consent page: a host, or the scheme of an app on the machine. */
export function destinationOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return protocol === "http:" || protocol === "https:" ? host : protocol;
}

/** The scopes that were allowed, and the destination. */
export interface GivenGrant {
  readonly scopes: readonly string[];
  /** Host or scheme of the redirect; null for a device. */
  readonly host: string | null;
}

const grantPayloadSchema = z.looseObject({
  host: z.string().nullable().optional(),
  resources: z.record(z.string(), z.string()).default({}),
});

/**
 * Whether an older grant of the same client allowed a scope that is not allowed now at the same destination, where all ports of this
 * machine are one destination. Allowing less than before revokes the older grant. A grant that allowed the same or less is kept, because the same
 * app can be authorized on two machines.
 *
 * @param older the payload of its record, as JSON
 */
export function isTakenBack(older: string, now: GivenGrant): boolean {
  const { host = null, resources } = grantPayloadSchema.parse(JSON.parse(older));
  if (!samePlace(host, now.host)) return false;
  const allowed = Object.values(resources).flatMap((scopes) => scopes.split(" "));
  return allowed.some((scope) => !now.scopes.includes(scope));
}

/** Whether a host is this machine, under any of its names and on any port. */
export function isThisMachine(host: string): boolean {
  return thisMachine.test(host);
}

function samePlace(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return one === other;
  return one === other || (isThisMachine(one) && isThisMachine(other));
}

/**
 * Records that an account authorized the client again. This ends earlier grants for the same destination that allowed more, and the least recently
 * used grants when there are too many. The audit entry contains the number of ended grants.
 */
export interface Approval {
  readonly kind: "approval";
  readonly clientId: string;
  /** For a client identified by its document: the approved document, used from now on. */
  readonly document: { readonly name: string; readonly metadata: string } | null;
  readonly grant: GivenGrant & {
    readonly accountId: string;
    readonly hash: string;
    /** The end of the grant's payload: scopes and destination. Grants whose payloads have the same end allow the same. */
    readonly payloadEnd: string;
  };
  readonly note: AuditNote;
}

/** Maximum grants of an account to one client, such as one for each machine. Counted with each decision. Our own limit. */
const maxGrants = 50;
/** The oldest grants are removed together once the limit is exceeded by this many. */
const grantsBetweenTrims = 10;

type ToClient = {
  readonly accountId: string;
  readonly clientId: string;
  readonly grantHash: string;
  readonly now: number;
};

/** The other grants of the account to the client. */
function othersTo(db: Kysely<Tables>, slot: Slot<ToClient>) {
  return db
    .selectFrom("oauth_records")
    .where("account_id", "=", slot("accountId"))
    .where("kind", "=", "Grant")
    .where("client_id", "=", slot("clientId"))
    .where("id_hash", "!=", slot("grantHash"))
    .where("expires_at", ">", slot("now"));
}

/** LIKE patterns: `alike` for payloads that allow the same, `there` for payloads with the same destination. */
type Unlike = {
  readonly alike: string;
  readonly there: string;
};

/** Matches every grant that could allow more at the same destination, and few others. */
function isUnlike(slot: Slot<Unlike>) {
  return sql<boolean>`payload like ${slot("there")} escape '\\' and payload not like ${slot("alike")} escape '\\'`;
}

/** If the destination has several names, `there` matches any payload. */
function patternsOf({ payloadEnd, host }: Approval["grant"]): Unlike {
  const there = host === null || isThisMachine(host) ? "" : `"host":${JSON.stringify(host)}`;
  return { alike: `%${asItIs(payloadEnd)}`, there: `%${asItIs(there)}%` };
}

function asItIs(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}

/** Authorizes clients, with statements that are compiled once. */
export function createApprove(noteAudit: NoteAudit) {
  // Payloads are read only when necessary: a client that is authorized daily usually gets the same scopes each time.
  const countOthers = compiledQuery<ToClient & Unlike, { standing: number; unlike: number }>((db, slot) =>
    othersTo(db, slot).select([
      sql<number>`count(*)`.as("standing"),
      sql<number>`count(case when ${isUnlike(slot)} then 1 end)`.as("unlike"),
    ]),
  );
  const unlikeOthers = compiledQuery<ToClient & Unlike, { id_hash: string; payload: string }>((db, slot) =>
    othersTo(db, slot).select(["id_hash", "payload"]).where(isUnlike(slot)),
  );
  const longestAgo = compiledQuery<ToClient & { most: number }, { id_hash: string }>((db, slot) =>
    othersTo(db, slot)
      .select("id_hash")
      .orderBy(sql`coalesce(last_used_at, created_at)`)
      .orderBy("id_hash")
      .limit(slot("most")),
  );
  const noteUse = compiledQuery<{ clientId: string; now: number }>((db, slot) =>
    db
      .updateTable("oauth_clients")
      .set({ last_used_at: slot("now") })
      .where("client_id", "=", slot("clientId")),
  );

  /** @returns the number of ended grants */
  async function endOthers(db: Kysely<Tables>, { clientId, grant }: Approval, now: number): Promise<number> {
    const { accountId, hash } = grant;
    const whose = { accountId, clientId, grantHash: hash, now };
    const alike = { ...whose, ...patternsOf(grant) };
    const [counted] = (await countOthers(db, alike)).rows;
    const { standing = 0, unlike = 0 } = counted ?? {};
    const ended =
      unlike === 0 ? [] : (await unlikeOthers(db, alike)).rows.filter((row) => isTakenBack(row.payload, grant));
    await end(db, ended);
    const left = standing - ended.length;
    if (left < maxGrants + grantsBetweenTrims) return ended.length;
    const oldest = (await longestAgo(db, { ...whose, most: left - maxGrants + 1 })).rows;
    await end(db, oldest);
    return ended.length + oldest.length;
  }

  return async (db: Kysely<Tables>, approval: Approval, now: number): Promise<void> => {
    const { clientId, document, note } = approval;
    if (document === null) await noteUse(db, { clientId, now });
    else await keepDocument(db, { clientId, document, now });
    const replaced = await endOthers(db, approval, now);
    await noteAudit({ ...note, details: replaced === 0 ? note.details : { ...note.details, replaced } }, db);
  };
}

async function end(db: Kysely<Tables>, grants: readonly { readonly id_hash: string }[]): Promise<void> {
  if (grants.length === 0) return;
  const hashes = grants.map((row) => row.id_hash);
  await db.deleteFrom("oauth_records").where("grant_hash", "in", hashes).execute();
}

async function keepDocument(
  db: Kysely<Tables>,
  known: {
    readonly clientId: string;
    readonly document: { readonly name: string; readonly metadata: string };
    readonly now: number;
  },
): Promise<void> {
  const { clientId, document, now } = known;
  const changes = { ...document, last_used_at: now };
  await db
    .insertInto("oauth_clients")
    .values({ client_id: clientId, origin: "document", created_at: now, ...changes })
    .onConflict((conflict) => conflict.column("client_id").doUpdateSet(changes))
    .execute();
}
