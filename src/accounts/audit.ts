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

/** Where a caller connected from. Both fields are null for the command line. */
export interface AuditOrigin {
  /** An IP address, or `local` for the owner's Unix socket. */
  readonly address: string | null;
  readonly userAgent: string | null;
}

/** An entry for {@link Audit.note}. */
export interface AuditNote {
  readonly action: AuditAction;
  /** The account that acted; null when the caller is unknown. */
  readonly accountId: string | null;
  /** The id of the object that was changed. */
  readonly subject: string | null;
  /** Context for readers of the audit log. Never a secret. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly from: AuditOrigin;
}

/** The audit log: who did what, when and from where. Entries never change. */
export interface Audit {
  /**
   * Never throws: an action still succeeds when its entry cannot be written. The failure is logged instead.
   * @param within the transaction to write in. With a transaction, it throws, because a failed statement ends the transaction (PostgreSQL would
   *   silently roll it back)
   */
  note(entry: AuditNote, within?: Kysely<Tables>): Promise<void>;
  /** Newest first. */
  page(query: AuditQuery): Promise<AuditPage>;
}

/** Numbers of entries to keep; the oldest are removed. Our own limits. */
export interface AuditLimits {
  /** For each account, so that a busy account does not displace the entries of another. */
  readonly perAccount: number;
  /** For all accounts together. */
  readonly known: number;
  /** For unknown callers. Counted separately, so that repeated anonymous attempts displace only other anonymous entries. */
  readonly unknown: number;
}

const defaultLimits: AuditLimits = { perAccount: 10_000, known: 100_000, unknown: 5_000 };
/** The limit of an account is checked after this many entries, so it can be exceeded by at most this many. */
const entriesBetweenPrunes = 100;
/** Maximum length of a user agent; some browsers send very long ones. */
const maxUserAgentLength = 200;
const maxSubjectLength = 500;
/** Maximum length as JSON. Longer details are dropped, because an unknown caller can choose them. */
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
  /** Entries written for each account since the gateway started. Bounded by the number of accounts. */
  const written = new Map<string | null, number>();

  /** @param of an account's id, null for unknown callers, or `"accounts"` for all accounts together */
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

/** Ids that sort in order of creation, even within one millisecond or after the clock is set back. */
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

/** PostgreSQL cannot store NUL in a text column. */
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
