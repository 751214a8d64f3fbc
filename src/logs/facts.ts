import { type RawBuilder, type SqlBool, sql } from "kysely";
import { isoTime } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import {
  type EntitiesInput,
  type EntityPage,
  entityTypeSchema,
  type FactPage,
  type FactsInput,
  type LogEntity,
  type LogFact,
  singleValuedPredicates,
} from "../wire/logs.ts";
import { entityIdOf } from "./assertion.ts";
import { cursorOf, readCursor } from "./cursor.ts";
import type { LogsErrorCode } from "./errors.ts";
import { isOf, type LogsDatabase } from "./logs-database.ts";
import { isOfSeen, type Sight } from "./sight.ts";

const defaultLimit = 100;
const defaultEntityLimit = 50;

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

/** Which facts: of a subject, of an object, of either, of one entry, or all. Ids of entities. */
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
/** Of facts at the same time the one that was recorded last holds. */
const order = sql`f.valid_from, f.recorded_at, f.log_id, f.position`;

/**
 * Facts with the time that they hold, the newest first. When a fact ends is computed here: where the next one about its subject
 * begins, for what has one value at a time.
 */
export async function findFacts(on: LogsDatabase, sight: Sight, filter: FactFilter): Promise<FactPage> {
  const { accountId } = sight;
  const { limit = defaultLimit, cursor, asOf } = filter;
  const isNarrow = [filter.subject, filter.object, filter.about, filter.logId].some((one) => one !== undefined);
  const inner = all([
    // Found by what is asked for, or else along the account's facts.
    isNarrow ? isOf(accountId, "f.account_id") : sql`f.account_id = ${accountId}`,
    isOfSeen(on, sight, "f.log_id"),
    when(filter.subject, (id) => sql`s.subject_id = ${id}`),
    when(filter.about, (id) => sql`(s.subject_id = ${id} or s.object_id = ${id})`),
    when(filter.predicate, (predicate) => sql`s.predicate = ${predicate}`),
    when(filter.knownAt, (time) => sql`f.recorded_at <= ${time}`),
    // A window has to see what ends a fact; the other way looks for it.
    when(filter.subject === undefined ? filter.object : undefined, (id) => sql`s.object_id = ${id}`),
    when(filter.logId, (id) => sql`f.log_id = ${id}`),
  ]);
  const before = cursor === undefined ? undefined : readCursor(cursor, 2);
  const outer = all([
    sql`true`,
    when(filter.object, (id) => sql`told.object_id = ${id}`),
    when(asOf, (time) => sql`told.valid_from <= ${time} and (told.valid_to is null or told.valid_to > ${time})`),
    when(
      before,
      ([time, logId, position]) =>
        sql`(told.valid_from, told.log_id, told.position) < (cast(${time} as bigint), ${logId}, cast(${position} as integer))`,
    ),
  ]);
  const { rows } = await sql<FactRow>`
    select told.*, subject.type as subject_type, subject.key as subject_key, object.type as object_type, object.key as object_key
    from (
      select f.log_id, f.position, f.statement_id, f.valid_from, f.recorded_at, f.extractor, s.subject_id, s.predicate,
        s.object_id, s.value, ${filter.subject === undefined ? nextLookedFor(on, sight, filter) : nextInWindow} as valid_to
      from facts as f join statements as s on s.statement_id = f.statement_id
      where ${inner}
    ) as told
    join entities as subject on subject.entity_id = told.subject_id
    left join entities as object on object.entity_id = told.object_id
    where ${outer}
    order by told.valid_from desc, told.log_id desc, told.position desc limit ${sql.lit(limit + 1)}`.execute(on.db);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last !== undefined;
  return {
    facts: page.map(toFact),
    nextCursor: more ? cursorOf([last.valid_from, last.log_id, String(last.position)]) : null,
  };
}

/** All facts of the subject are there: one pass over them. */
const nextInWindow = sql`case when s.predicate in (${single})
  then lead(f.valid_from) over (partition by s.subject_id, s.predicate order by ${order}) end`;

/** For few facts of many subjects. */
function nextLookedFor(on: LogsDatabase, sight: Sight, { knownAt }: FactFilter): RawBuilder<unknown> {
  const known = when(knownAt, (time) => sql`n.recorded_at <= ${time}`) ?? sql`true`;
  return sql`case when s.predicate in (${single}) then (
    select min(n.valid_from) from statements as m join facts as n on n.statement_id = m.statement_id
    where m.subject_id = s.subject_id and m.predicate = s.predicate and ${isOf(sight.accountId, "n.account_id")} and ${known}
      and ${isOfSeen(on, sight, "n.log_id")}
      and n.valid_from >= f.valid_from
      and (n.valid_from, n.recorded_at, n.log_id, n.position) > (${order})) end`;
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

function toEntity(row: { readonly entity_id: string; readonly type: string; readonly key: string }): LogEntity {
  return { entityId: row.entity_id, type: entityTypeSchema.parse(row.type), key: row.key };
}

/** The question of a caller as a filter. @throws PosternError `invalid_request` for what names no entity */
export function factFilter(accountId: string, { subject, object, asOf, knownAt, ...rest }: FactsInput): FactFilter {
  const idOf = (ref: string | undefined) => (ref === undefined ? undefined : entityIdOfRef(accountId, ref));
  const timeOf = (iso: string | undefined) => (iso === undefined ? undefined : Date.parse(iso));
  return { ...rest, subject: idOf(subject), object: idOf(object), asOf: timeOf(asOf), knownAt: timeOf(knownAt) };
}

/** An entity by its id, or by `Type:key`. */
function entityIdOfRef(accountId: string, ref: string): string {
  if (/^[0-9a-f]{32}$/.test(ref)) return ref;
  const colon = ref.indexOf(":");
  const type = entityTypeSchema.safeParse(ref.slice(0, Math.max(0, colon)));
  if (type.success) return entityIdOf(accountId, { type: type.data, key: ref.slice(colon + 1) });
  throw new PosternError<LogsErrorCode>(
    "invalid_request",
    `No entity is called like this: give its id, or \`Type:key\`, such as \`File:/work/a.ts\`. Types: ${entityTypeSchema.options.join(", ")}.`,
  );
}

/** Entities that what is seen speaks of, by their names. @throws PosternError `invalid_request` for a cursor that is none */
export async function findEntities(on: LogsDatabase, sight: Sight, input: EntitiesInput): Promise<EntityPage> {
  const { type, q, limit = defaultEntityLimit, cursor } = input;
  const after = cursor === undefined ? undefined : readCursor(cursor, 2);
  const pattern = q === undefined ? undefined : `%${q.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
  const rows = await on.db
    .selectFrom("entities")
    .select(["entity_id", "type", "key"])
    .where("account_id", "=", sight.accountId)
    .where(isNamedInSeen(on, sight))
    .$if(type !== undefined, (query) => query.where("type", "=", type ?? ""))
    .$if(pattern !== undefined, (query) => query.where(sql<boolean>`lower(key) like ${pattern} escape '\\'`))
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(key, entity_id) > (${after?.[1]}, ${after?.[2]})`))
    .orderBy("key")
    .orderBy("entity_id")
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { entities: page.map(toEntity), nextCursor: more ? cursorOf([0, last.key, last.entity_id]) : null };
}

/** That something which is seen speaks of an entity. */
function isNamedInSeen(on: LogsDatabase, sight: Sight): RawBuilder<SqlBool> {
  if (sight.dirs === null) return sql`true`;
  const isNamedAs = (
    column: string,
  ) => sql`exists (select 1 from statements as s join facts as f on f.statement_id = s.statement_id
    where ${sql.ref(`s.${column}`)} = entities.entity_id and ${isOfSeen(on, sight, "f.log_id")})`;
  return sql`(${isNamedAs("subject_id")} or ${isNamedAs("object_id")})`;
}
