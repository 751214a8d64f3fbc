import { type Kysely, sql } from "kysely";
import { z } from "zod";
import { compiledQuery, type Slot } from "../storage/compiled-query.ts";
import type { Tables } from "../storage/schema.ts";
import type { AuditNote, NoteAudit } from "./ports.ts";

/** An app of this machine listens on another port each time (RFC 8252 section 7.3). */
const thisMachine = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** Where the browser goes from here, as a consent page names it: a host, or the scheme of an app of the machine. */
export function destinationOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return protocol === "http:" || protocol === "https:" ? host : protocol;
}

/** What was allowed, and where to. */
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
 * Whether an older grant of the same client allowed something that is not allowed now at the same place (this machine by any port is one):
 * whoever allows less than before means that. One that allowed no more stays: the same app may be let in from two machines.
 *
 * @param older the payload of its record, as JSON
 */
export function isTakenBack(older: string, now: GivenGrant): boolean {
  const { host = null, resources } = grantPayloadSchema.parse(JSON.parse(older));
  if (!samePlace(host, now.host)) return false;
  const allowed = Object.values(resources).flatMap((scopes) => scopes.split(" "));
  return allowed.some((scope) => !now.scopes.includes(scope));
}

/** Whether a host is this machine, which has several names and any port. */
export function isThisMachine(host: string): boolean {
  return thisMachine.test(host);
}

function samePlace(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return one === other;
  return one === other || (isThisMachine(one) && isThisMachine(other));
}

/**
 * An account let the client in anew: what it let it do before at the same place, and does not now, is over, and so is what was used
 * longest ago when the client was let in too often. The note says how many grants that ended.
 */
export interface Approval {
  readonly kind: "approval";
  readonly clientId: string;
  /** Of a client that is known by its document, what that said: this is how it is known from now on. */
  readonly document: { readonly name: string; readonly metadata: string } | null;
  readonly grant: GivenGrant & {
    readonly accountId: string;
    readonly hash: string;
    /** What is allowed and where, as the payloads of grants end: one that ends alike allows the same. */
    readonly payloadEnd: string;
  };
  readonly note: AuditNote;
}

/** Grants of an account to one client, from as many machines. Each decision counts them. Ours. */
const maxGrants = 50;
/** So many more come before the oldest go, together. */
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

/** Patterns: how payloads end that allow the same, and what those of the same place have. */
type Unlike = {
  readonly alike: string;
  readonly there: string;
};

/** Of these some may allow more at the same place, and no others. */
function isUnlike(slot: Slot<Unlike>) {
  return sql<boolean>`payload like ${slot("there")} escape '\\' and payload not like ${slot("alike")} escape '\\'`;
}

/** Any payload when the place goes by several names. */
function patternsOf({ payloadEnd, host }: Approval["grant"]): Unlike {
  const there = host === null || isThisMachine(host) ? "" : `"host":${JSON.stringify(host)}`;
  return { alike: `%${asItIs(payloadEnd)}`, there: `%${asItIs(there)}%` };
}

function asItIs(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}

/** Lets clients in, with statements that are compiled once. */
export function createApprove(noteAudit: NoteAudit) {
  // Payloads are read where they must be: a client that is let in each day allows the same each time.
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

  /** @returns how many grants that were */
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
