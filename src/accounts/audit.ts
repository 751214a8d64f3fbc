import { randomBytes } from "node:crypto";
import { expressionBuilder, type Kysely, type Selectable } from "kysely";
import { z } from "zod";
import { type Clock, isoTime } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { type Log, silentLog } from "../core/log.ts";
import { compiledQuery } from "../storage/compiled-query.ts";
import type { Tables } from "../storage/schema.ts";
import {
  type AuditAction,
  type AuditEntry,
  type AuditPage,
  type AuditQuery,
  auditActionSchema,
  auditKinds,
} from "../wire/accounts.ts";

/** From where somebody came: null twice is the command line. */
export interface AuditOrigin {
  /** An IP address, or `local` for the owner's Unix socket. */
  readonly address: string | null;
  readonly userAgent: string | null;
}

/** What {@link Audit.note} writes down. */
export interface AuditNote {
  readonly action: AuditAction;
  /** Who; null when nobody was known. */
  readonly accountId: string | null;
  /** The id of what it was done to. */
  readonly subject: string | null;
  /** What a person would ask next; never a secret. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly from: AuditOrigin;
}

/** What was decided and made: who, when, what, from where. Nothing in it is ever changed. */
export interface Audit {
  /**
   * Never throws: what was decided stands, also when it cannot be written down. Then the log says so.
   * @param within a transaction that writes what is noted: there it throws, because what failed in a transaction ends it (PostgreSQL would
   *   roll it back in silence)
   */
  note(entry: AuditNote, within?: Kysely<Tables>): Promise<void>;
  /** The newest first. */
  page(query: AuditQuery): Promise<AuditPage>;
}

/** Entries that are kept; the oldest go. Ours. */
export interface AuditLimits {
  /** Of each account: what one does all day pushes out nothing of another. */
  readonly perAccount: number;
  /** Of all accounts together. */
  readonly known: number;
  /** Of whom nobody knew: apart, so that a stranger who tries doors all day pushes out only what strangers did. */
  readonly unknown: number;
}

const defaultLimits: AuditLimits = { perAccount: 10_000, known: 100_000, unknown: 5_000 };
/** So often it is looked whether an account has too many: then there are at most that many more of it. */
const entriesBetweenPrunes = 100;
/** A browser says who it is in a line; some say it in a long one. */
const maxUserAgentLength = 200;
const maxSubjectLength = 500;
/** As JSON. What is longer is left out: a stranger chose it. */
const maxDetailsLength = 4_000;

const detailsSchema = z.record(z.string(), z.unknown());

export function createAudit(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log?: Log;
  readonly limits?: AuditLimits;
}): Audit {
  const { db, clock, log = silentLog, limits = defaultLimits } = deps;
  const nextId = createAuditIds();
  const insert = compiledQuery<{
    auditId: string;
    now: number;
    accountId: string | null;
    action: AuditAction;
    subject: string | null;
    details: string;
    address: string | null;
    userAgent: string | null;
  }>((within, slot) =>
    within.insertInto("audit_entries").values({
      audit_id: slot("auditId"),
      at: slot("now"),
      account_id: slot("accountId"),
      account_name: (eb) => eb.selectFrom("accounts").select("name").where("account_id", "=", slot("accountId")),
      action: slot("action"),
      subject: slot("subject"),
      details: slot("details"),
      address: slot("address"),
      user_agent: slot("userAgent"),
    }),
  );
  /** By whom so many were written since the gateway started; there are no more of them than there were accounts. */
  const written = new Map<string | null, number>();

  /** @param of an account, nobody, or all accounts */
  async function keepNewest(
    within: Kysely<Tables>,
    of: { readonly accountId: string | null } | "accounts",
    count: number,
  ): Promise<void> {
    const whose = expressionBuilder<Tables, "audit_entries">();
    const theirs =
      of === "accounts"
        ? whose("account_id", "is not", null)
        : of.accountId === null
          ? whose("account_id", "is", null)
          : whose("account_id", "=", of.accountId);
    const oldest = await within
      .selectFrom("audit_entries")
      .select("audit_id")
      .where(theirs)
      .orderBy("audit_id", "desc")
      .offset(count)
      .limit(1)
      .executeTakeFirst();
    if (oldest === undefined) return;
    await within.deleteFrom("audit_entries").where(theirs).where("audit_id", "<=", oldest.audit_id).execute();
  }

  async function prune(within: Kysely<Tables>, accountId: string | null): Promise<void> {
    const before = written.get(accountId) ?? 0;
    written.set(accountId, before + 1);
    if (before % entriesBetweenPrunes !== 0) return;
    if (accountId === null) return keepNewest(within, { accountId }, limits.unknown);
    await keepNewest(within, { accountId }, limits.perAccount);
    await keepNewest(within, "accounts", limits.known);
  }

  return {
    async note({ action, accountId, subject, details, from }, transaction) {
      const within = transaction ?? db;
      const now = clock.now();
      try {
        await insert(within, {
          auditId: nextId(now),
          now,
          accountId,
          action,
          subject: clean(subject, maxSubjectLength),
          details: detailsText(details),
          address: clean(from.address, maxSubjectLength),
          userAgent: clean(from.userAgent, maxUserAgentLength),
        });
        await prune(within, accountId);
      } catch (error) {
        if (transaction !== undefined) throw error;
        log.error({ action, accountId, reason: messageOf(error) }, "cannot write to the audit log");
      }
    },

    async page({ limit, before, kind }) {
      const rows = await db
        .selectFrom("audit_entries")
        .selectAll()
        .$if(before !== undefined, (query) => query.where("audit_id", "<", before ?? ""))
        .$if(kind !== undefined, (query) => query.where("action", "in", auditKinds[kind ?? "sign_in"]))
        .orderBy("audit_id", "desc")
        .limit(limit + 1)
        .execute();
      return { entries: rows.slice(0, limit).map(toEntry), hasMore: rows.length > limit };
    },
  };
}

/** Ids that sort as they were made, also in the same millisecond and when the clock is set back. */
function createAuditIds(): (epochMs: number) => string {
  let last = 0;
  let count = 0;
  return (epochMs) => {
    count = epochMs > last ? 0 : count + 1;
    last = Math.max(last, epochMs);
    const time = last.toString(16).padStart(12, "0");
    return `${time}${count.toString(16).padStart(6, "0")}${randomBytes(6).toString("hex")}`;
  };
}

/** PostgreSQL holds no NUL in a text. */
function clean(text: string | null, maxLength: number): string | null {
  return text === null ? null : text.replaceAll("\0", "").slice(0, maxLength);
}

function detailsText(details: AuditNote["details"]): string {
  const text = JSON.stringify(details);
  return text.length <= maxDetailsLength ? text : JSON.stringify({ tooLong: true });
}

function toEntry(row: Selectable<Tables["audit_entries"]>): AuditEntry {
  return {
    auditId: row.audit_id,
    at: isoTime(row.at),
    account: row.account_id === null ? null : { accountId: row.account_id, name: row.account_name ?? "" },
    action: auditActionSchema.parse(row.action),
    subject: row.subject,
    details: detailsSchema.parse(JSON.parse(row.details)),
    address: row.address,
    userAgent: row.user_agent,
  };
}
