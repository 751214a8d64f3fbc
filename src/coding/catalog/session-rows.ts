import { type Expression, type SqlBool, sql } from "kysely";
import type { CatalogDatabase } from "./catalog-database.ts";
import type { TranscriptRow } from "./catalog-tables.ts";

/** A session among all of them: one that has a transcript, one that the store has on record, or one with both. */
export interface SessionRow {
  readonly sessionId: string;
  readonly agent: string;
  readonly transcriptId: number | null;
}

/** Sessions with live processes: their status cannot be told by what is stored. */
export interface AliveSessions {
  /** Sure to be running. */
  readonly running: readonly string[];
  /** Running once they have a transcript, until then initializing. */
  readonly starting: readonly string[];
}

/** Which sessions are wanted. */
export interface SessionFilter {
  /** Only those of these agents. */
  readonly agents: readonly string[];
  /** Only those of these directories; null for any. */
  readonly dirs: readonly string[] | null;
  /** Updated at or after, epoch milliseconds. */
  readonly since: number | null;
  readonly status: "initializing" | "running" | "completed" | "failed" | null;
  readonly alive: AliveSessions;
  /** Transcripts may be there that are not indexed yet: a session that names one has not failed. */
  readonly partial: boolean;
}

type Reader = Pick<CatalogDatabase, "db" | "dialect">;

/** Every directory of a session. */
export async function sessionDirs({ db }: Reader): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("transcripts")
    .select(sql<string>`dir`.as("dir"))
    .where(sql<SqlBool>`listed = 1`)
    .groupBy("dir")
    .union(db.selectFrom("sessions").select("dir"))
    .execute();
  return rows.map(({ dir }) => dir);
}

/** A page of the sessions that are wanted, the most recently updated first, and how many there are in all. */
export async function findSessions(
  reader: Reader,
  filter: SessionFilter,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly rows: readonly SessionRow[]; readonly total: number }> {
  const { db } = reader;
  const all = (): ReturnType<typeof catalogued> => catalogued(reader, filter).unionAll(recorded(reader, filter));
  const [rows, { total }] = await Promise.all([
    all()
      .orderBy("updated_at", "desc")
      .orderBy("session_id")
      .orderBy("agent")
      .limit(page.limit)
      .offset(page.offset)
      .execute(),
    db
      .selectFrom(all().as("found"))
      .select(({ fn }) => fn.countAll<number>().as("total"))
      .executeTakeFirstOrThrow(),
  ]);
  return {
    rows: rows.map((row) => ({ sessionId: row.session_id, agent: row.agent, transcriptId: row.transcript_id })),
    total,
  };
}

/** Catalog rows by their ids. */
export async function transcriptRows({ db }: Reader, ids: readonly number[]): Promise<readonly TranscriptRow[]> {
  if (ids.length === 0) return [];
  return db
    .selectFrom("transcripts")
    .selectAll()
    .where("transcript_id", "in", [...ids])
    .execute();
}

/** Sessions that have a transcript. */
function catalogued(reader: Reader, filter: SessionFilter) {
  const { dirs, since, status, agents } = filter;
  let query = reader.db
    .selectFrom("transcripts as t")
    .select(["t.session_id", "t.agent", "t.updated_at", sql<number | null>`t.transcript_id`.as("transcript_id")])
    .where(sql<SqlBool>`t.listed = 1`)
    .where("t.agent", "in", [...agents]);
  if (dirs !== null) {
    // The record knows better: an agent may have been told to work elsewhere than where it was started.
    const dir = sql<string>`coalesce((select s.dir from sessions s where s.session_id = t.session_id and s.agent = t.agent), t.dir)`;
    query = query.where(isAmong(reader, dir, dirs));
  }
  if (since !== null) query = query.where("t.updated_at", ">=", since);
  const alive = isAmong(reader, sql<string>`t.session_id`, [...filter.alive.running, ...filter.alive.starting]);
  if (status === "running") query = query.where(alive);
  if (status === "completed") query = query.where(sql<SqlBool>`not ${alive}`);
  if (status === "initializing" || status === "failed") query = query.where(sql<SqlBool>`1 = 0`);
  return query;
}

/** Sessions that are only on record. */
function recorded(reader: Reader, filter: SessionFilter) {
  const { dirs, since, status, agents, alive, partial } = filter;
  const id = sql<string>`s.session_id`;
  let query = reader.db
    .selectFrom("sessions as s")
    .select(["s.session_id", "s.agent", "s.updated_at", sql<number | null>`cast(null as bigint)`.as("transcript_id")])
    .where("s.agent", "in", [...agents])
    .where(
      sql<SqlBool>`not exists (select 1 from transcripts t
        where t.session_id = s.session_id and t.agent = s.agent and t.listed = 1)`,
    );
  if (dirs !== null) query = query.where(isAmong(reader, sql<string>`s.dir`, dirs));
  if (since !== null) query = query.where("s.updated_at", ">=", since);
  const isAlive = isAmong(reader, id, [...alive.running, ...alive.starting]);
  if (status === "running") query = query.where(isAmong(reader, id, alive.running));
  if (status === "initializing") query = query.where(isAmong(reader, id, alive.starting));
  if (status === "failed") {
    query = query.where(sql<SqlBool>`not ${isAlive}`);
    if (partial) query = query.where("s.transcript_path", "is", null);
  }
  if (status === "completed") {
    query = query.where(partial ? sql<SqlBool>`not ${isAlive} and s.transcript_path is not null` : sql<SqlBool>`1 = 0`);
  }
  return query;
}

/** One parameter, however many there are. */
function isAmong({ dialect }: Reader, value: Expression<string>, list: readonly string[]): Expression<SqlBool> {
  if (dialect === "postgres") return sql<SqlBool>`(${value} = any(${[...list]}::text[]))`;
  return sql<SqlBool>`(${value} in (select value from json_each(${JSON.stringify(list)})))`;
}
