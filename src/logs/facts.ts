import { type RawBuilder, type SqlBool, sql } from "kysely";
import { z } from "zod";
import { isoTime } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import {
  entityTypeSchema,
  type FactPage,
  type FactsInput,
  type LogFact,
  singleValuedPredicates,
} from "../wire/logs.ts";
import { entityIdOf, isSingleValued } from "./assertion.ts";
import { cursorText, pageOf, readCursor } from "./cursor.ts";
import { toEntity } from "./entities.ts";
import type { LogsErrorCode } from "./errors.ts";
import { isOf, type LogsDatabase } from "./logs-database.ts";
import { isOfVisible, type VisibilityFilter } from "./visibility-filter.ts";

const defaultLimit = 100;
/** Extractors can add predicates; those beyond this limit are not shown. */
const maxPredicates = 100;
/** The last fact's start, entry and position. */
const placeSchema = z.tuple([z.int(), cursorText, z.int().min(0).max(2_147_483_647)]);

interface FactRow {
  readonly log_id: string;
  readonly position: number;
  readonly statement_id: string;
  readonly predicate: string;
  readonly value: string | null;
  readonly valid_from: number;
  readonly valid_to: number | null;
  readonly recorded_at: number;
  readonly extractor: string;
  readonly subject_id: string;
  readonly subject_type: string;
  readonly subject_key: string;
  readonly object_id: string | null;
  readonly object_type: string | null;
  readonly object_key: string | null;
}

/** Selects facts by subject, object, either of them (`about`) or entry. Entities are given by id. */
export interface FactFilter {
  readonly subject?: string | undefined;
  readonly object?: string | undefined;
  readonly about?: string | undefined;
  readonly logId?: string | undefined;
  readonly predicate?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly asOf?: number | undefined;
  readonly knownAt?: number | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

const single = sql.join(singleValuedPredicates.map((one) => sql.lit(one)));
/** Among facts of the same time, the one recorded last holds: entry ids sort by creation. */
const newestFirst = sql`valid_from desc, log_id desc, position desc`;

interface Question {
  readonly on: LogsDatabase;
  readonly visibility: VisibilityFilter;
  readonly filter: FactFilter;
  readonly before: z.infer<typeof placeSchema> | null;
  /** One more than fits a page. */
  readonly limit: number;
}

/**
 * Finds facts with their validity, newest first. A fact of a single-valued predicate ends where the next one of its subject begins.
 * The page is found first, along an index for each predicate, and then its contents.
 * @throws PosternError `invalid_request` for a bad cursor
 */
export async function findFacts(on: LogsDatabase, visibility: VisibilityFilter, filter: FactFilter): Promise<FactPage> {
  const { limit = defaultLimit, cursor } = filter;
  const before = cursor === undefined ? null : readCursor(cursor, placeSchema);
  const question: Question = { on, visibility, filter, before, limit: limit + 1 };
  const parts = await partsOf(question);
  if (parts.length === 0) return { facts: [], nextCursor: null };
  const { rows } = await sql<FactRow>`
    select f.log_id, f.position, f.statement_id, f.valid_from, f.recorded_at, f.extractor, f.subject_id, f.predicate,
      s.object_id, s.value, case when f.predicate in (${single}) then ${nextOf(question)} end as valid_to,
      subject.type as subject_type, subject.key as subject_key, object.type as object_type, object.key as object_key
    from (
      select * from (${sql.join(parts, sql` union `)}) as found order by ${newestFirst} limit ${sql.lit(limit + 1)}
    ) as page
    cross join facts as f
    join statements as s on s.statement_id = f.statement_id
    join entities as subject on subject.account_id = f.account_id and subject.entity_id = f.subject_id
    left join entities as object on object.account_id = f.account_id and object.entity_id = s.object_id
    where f.log_id = page.log_id and f.position = page.position
    order by f.valid_from desc, f.log_id desc, f.position desc`.execute(on.db);
  const { page, nextCursor } = pageOf(rows, limit, (last) => [last.valid_from, last.log_id, last.position]);
  return { facts: page.map(toFact), nextCursor };
}

/** Queries, each of which returns the newest matches in one part of the facts. */
async function partsOf(question: Question): Promise<readonly RawBuilder<unknown>[]> {
  const { subject, object, about, logId } = question.filter;
  if (logId !== undefined) return [firstOf(question, sql`facts as f`, sql`f.log_id = ${logId}`)];
  if (object !== undefined) return [ofObject(question, object)];
  const owner = subject ?? about;
  const own = await ofPredicates(question, owner);
  return about === undefined ? own : [...own, ofObject(question, about)];
}

function ofObject(question: Question, object: string): RawBuilder<unknown> {
  const { subject, predicate } = question.filter;
  return firstOf(
    question,
    sql`statements as s cross join facts as f`,
    all([
      sql`s.object_id = ${object} and f.statement_id = s.statement_id`,
      when(subject, (id) => sql`s.subject_id = ${id}`),
      when(predicate, (one) => sql`s.predicate = ${one}`),
    ]),
  );
}

/** One query per predicate of a subject or account, each along an index by time. */
async function ofPredicates(question: Question, subject: string | undefined): Promise<readonly RawBuilder<unknown>[]> {
  const { visibility, filter } = question;
  const owner = subject === undefined ? sql`f.account_id = ${visibility.accountId}` : sql`f.subject_id = ${subject}`;
  const known = filter.predicate === undefined ? await predicatesOf(question, owner) : [filter.predicate];
  return known.map((predicate) => {
    const isOne = sql`${owner} and f.predicate = ${predicate}`;
    const isLatest = subject !== undefined && filter.asOf !== undefined && isSingleValued(predicate);
    return isLatest ? latestOf(question, isOne) : firstOf(question, sql`facts as f`, isOne, predicate);
  });
}

/** Lists distinct predicates by skipping along the index. */
async function predicatesOf({ on }: Question, owner: RawBuilder<unknown>): Promise<readonly string[]> {
  const { rows } = await sql<{ predicate: string }>`with recursive p(predicate) as (
      select min(f.predicate) from facts as f where ${owner}
      union all select (select min(f.predicate) from facts as f where ${owner} and f.predicate > p.predicate)
      from p where p.predicate is not null)
    select predicate from p where predicate is not null limit ${sql.lit(maxPredicates)}`.execute(on.db);
  return rows.map(({ predicate }) => predicate);
}

/** The newest visible facts of one part that match `asOf` and `knownAt`. */
function firstOf(
  question: Question,
  from: RawBuilder<unknown>,
  where: RawBuilder<unknown>,
  predicate?: string,
): RawBuilder<unknown> {
  const { filter, limit } = question;
  const ends = when(filter.asOf, (time) => sql`coalesce(${nextOf(question)} > ${time}, true)`);
  // Facts of multi-valued predicates never end.
  const holds = predicate === undefined ? ends && sql`(f.predicate not in (${single}) or ${ends})` : ends;
  return sql`select * from (select f.log_id, f.position, f.valid_from from ${from} where ${all([
    where,
    isAsked(question),
    isBefore(question, "f"),
    predicate === undefined || isSingleValued(predicate) ? holds : undefined,
  ])} order by f.valid_from desc, f.log_id desc, f.position desc limit ${sql.lit(limit)}) as part`;
}

/** The fact that held: the last to begin. */
function latestOf(question: Question, where: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select * from (select f.log_id, f.position, f.valid_from from facts as f where ${all([
    where,
    isAsked(question),
  ])} order by f.valid_from desc, f.log_id desc, f.position desc limit 1) as part
    where ${isBefore(question, "part") ?? sql`true`}`;
}

function isAsked({ on, visibility, filter }: Question): RawBuilder<SqlBool> {
  return all([
    when(filter.asOf, (time) => sql`f.valid_from <= ${time}`),
    when(filter.knownAt, (time) => sql`f.recorded_at <= ${time}`),
    isOf(visibility.accountId, "f.account_id"),
    isOfVisible(on, visibility, "f.log_id"),
  ]);
}

/** Restricts to facts after the previous page. */
function isBefore({ before }: Question, table: "f" | "part"): RawBuilder<unknown> | undefined {
  if (before === null) return undefined;
  const [time, logId, position] = before;
  const place = sql.join(["valid_from", "log_id", "position"].map((column) => sql.ref(`${table}.${column}`)));
  return sql`(${place}) < (cast(${time} as bigint), ${logId}, cast(${position} as integer))`;
}

/** When the next visible, known fact of the same subject and predicate begins. Entities belong to one account. */
function nextOf({ on, visibility, filter }: Question): RawBuilder<unknown> {
  return sql`(select n.valid_from from facts as n where ${all([
    sql`n.subject_id = f.subject_id and n.predicate = f.predicate`,
    sql`(n.valid_from, n.log_id, n.position) > (f.valid_from, f.log_id, f.position)`,
    when(filter.knownAt, (time) => sql`n.recorded_at <= ${time}`),
    isOfVisible(on, visibility, "n.log_id"),
  ])} order by n.valid_from, n.log_id, n.position limit 1)`;
}

function when<T>(given: T | undefined, condition: (given: T) => RawBuilder<unknown>): RawBuilder<unknown> | undefined {
  return given === undefined ? undefined : condition(given);
}

function all(conditions: readonly (RawBuilder<unknown> | undefined)[]): RawBuilder<SqlBool> {
  return sql.join<SqlBool>(
    conditions.filter((one) => one !== undefined),
    sql` and `,
  );
}

function toFact(row: FactRow): LogFact {
  const { object_id, object_type, object_key } = row;
  return {
    factId: `${row.log_id}.${row.position}`,
    logId: row.log_id,
    statementId: row.statement_id,
    subject: toEntity({ entity_id: row.subject_id, type: row.subject_type, key: row.subject_key }),
    predicate: row.predicate,
    object:
      object_id === null || object_type === null || object_key === null
        ? null
        : toEntity({ entity_id: object_id, type: object_type, key: object_key }),
    value: row.value,
    validFrom: isoTime(row.valid_from),
    validTo: row.valid_to === null ? null : isoTime(row.valid_to),
    recordedAt: isoTime(row.recorded_at),
    extractor: row.extractor,
  };
}

/** A caller's input as a filter. @throws PosternError `invalid_request` for an unknown entity */
export function factFilter(accountId: string, { subject, object, asOf, knownAt, ...rest }: FactsInput): FactFilter {
  const idOf = (ref: string | undefined) => (ref === undefined ? undefined : entityIdOfRef(accountId, ref));
  const timeOf = (iso: string | undefined) => (iso === undefined ? undefined : Date.parse(iso));
  return { ...rest, subject: idOf(subject), object: idOf(object), asOf: timeOf(asOf), knownAt: timeOf(knownAt) };
}

/** Accepts an id or `Type:key`. */
function entityIdOfRef(accountId: string, ref: string): string {
  if (/^[0-9a-f]{32}$/.test(ref)) return ref;
  const colon = ref.indexOf(":");
  const type = entityTypeSchema.safeParse(ref.slice(0, Math.max(0, colon)));
  if (type.success) return entityIdOf(accountId, { type: type.data, key: ref.slice(colon + 1) });
  throw new PosternError<LogsErrorCode>(
    "invalid_request",
    `Unknown entity. Use its id or \`Type:key\`, such as \`File:/code/a.ts\`. Types: ${entityTypeSchema.options.join(", ")}.`,
  );
}
