import { type Expression, type SqlBool, sql } from "kysely";
import type { CatalogDatabase } from "./catalog-database.ts";
import type { TranscriptRow } from "./catalog-tables.ts";
import { isIdAmong, isNoted, type NotedFilter } from "./noted-filter.ts";

/** A session with a transcript, a record in the store, or both. */
export interface SessionRow {
  readonly sessionId: string;
  readonly agent: string;
  readonly transcriptId: number | null;
  /** The group, if sessions are grouped; null for a session without a label. */
  readonly group: string | null;
}

/** How sessions are grouped, each in one group: by folder (worktrees count as their repository's folder), agent or first label. */
export type SessionGrouping = "folder" | "agent" | "label";

/** Sessions with live processes, whose status is not stored. */
export interface AliveSessions {
  readonly running: readonly string[];
  /** Sessions that are starting: `initializing` until they have a transcript, then `running`. */
  readonly starting: readonly string[];
}

export interface SessionFilter {
  readonly agents: readonly string[];
  /** Whether `agents` are all agents in the catalog. */
  readonly anyAgent: boolean;
  /** Null for any directory. */
  readonly dirs: readonly string[] | null;
  /** Updated at or after, epoch milliseconds. */
  readonly since: number | null;
  readonly status: "initializing" | "running" | "completed" | "failed" | null;
  /** The start of a session's ID, current or earlier; null for any. */
  readonly idPrefix: string | null;
  readonly noted: NotedFilter;
  readonly alive: AliveSessions;
  /** Whether indexing is incomplete: a session whose transcript is only recorded, not indexed, then does not count as failed. */
  readonly partial: boolean;
}

/** A reading connection with the catalog's and the store's tables. */
export type CatalogReader = Pick<CatalogDatabase, "db" | "dialect">;

/** Up to this many directories, all their sessions are sorted; beyond it, the newest sessions are filtered. */
const fewDirs = 20;

const noGroup = sql<string | null>`cast(null as text)`.as("group_key");
const countAll = sql<number>`count(*)`.as("count");

/** Distinct directories of sessions, by skipping along the index: there are far fewer than sessions. */
export async function sessionDirs({ db }: CatalogReader): Promise<readonly string[]> {
  const { rows } = await sql<{ dir: string }>`
    with recursive dirs (dir) as (
      select min(dir) from transcripts where listed = 1
      union all
      select (select min(t.dir) from transcripts t where t.listed = 1 and t.dir > dirs.dir) from dirs where dirs.dir is not null
    )
    select dir from dirs where dir is not null union select dir from sessions`.execute(db);
  return rows.map(({ dir }) => dir);
}

/** A page of matching sessions, most recently updated first, and their total. */
export async function findSessions(
  reader: CatalogReader,
  filter: SessionFilter,
  page: { readonly limit: number; readonly offset: number; readonly group?: SessionGrouping | undefined },
): Promise<{ readonly rows: readonly SessionRow[]; readonly total: number }> {
  const moved = filter.dirs === null ? [] : await movedSessions(reader);
  const many = filter.dirs !== null && filter.dirs.length > fewDirs;
  const withTranscript = catalogued(reader, filter, { moved, byTime: false });
  const newest = catalogued(reader, filter, { moved, byTime: many });
  const onRecord = recorded(reader, filter);
  // Each part is read along an index and stops when the page is full. Counting in the same query would prevent that.
  const all = newest.unionAll(onRecord);
  const { limit, offset, group } = page;
  const rows =
    group === undefined
      ? await all
          .orderBy("updated_at", "desc")
          .orderBy("session_id")
          .orderBy("agent")
          .limit(limit)
          .offset(offset)
          .execute()
      : await grouped(reader, all, group).limit(limit).offset(offset).execute();
  const one = await withTranscript.clearSelect().select(countAll).executeTakeFirstOrThrow();
  const other = await onRecord.clearSelect().select(countAll).executeTakeFirstOrThrow();
  return {
    rows: rows.map((row) => ({
      sessionId: row.session_id,
      agent: row.agent,
      transcriptId: row.transcript_id,
      group: row.group_key,
    })),
    total: one.count + other.count,
  };
}

/** All sessions in the order of their groups: folders by their newest session, agents and labels by name; sessions without a label come last. */
function grouped({ db }: CatalogReader, all: Expression<ListedRow>, group: SessionGrouping) {
  const keys = {
    // The record takes precedence, because an agent can work in another directory than the one it was started in.
    folder: sql<string | null>`coalesce(
      (select max(w.repository) from worktrees w where w.session_id = r.session_id),
      (select s.dir from sessions s where s.session_id = r.session_id and s.agent = r.agent),
      (select t.dir from transcripts t where t.transcript_id = r.transcript_id))`,
    agent: sql<string | null>`r.agent`,
    label: sql<
      string | null
    >`(select min(l.label) from session_labels l where l.session_id = r.session_id and l.agent = r.agent)`,
  } as const;
  const rank =
    group === "folder"
      ? sql`max(k.updated_at) over (partition by k.group_key) desc`
      : sql`case when k.group_key is null then 1 else 0 end`;
  const keyed = db
    .selectFrom(sql<ListedRow>`(${all})`.as("r"))
    .select(["r.session_id", "r.agent", "r.updated_at", "r.transcript_id", keys[group].as("group_key")]);
  return db
    .selectFrom(keyed.as("k"))
    .select(["k.session_id", "k.agent", "k.updated_at", "k.transcript_id", "k.group_key"])
    .orderBy(rank)
    .orderBy("k.group_key")
    .orderBy("k.updated_at", "desc")
    .orderBy("k.session_id")
    .orderBy("k.agent");
}

interface ListedRow {
  readonly session_id: string;
  readonly agent: string;
  readonly updated_at: number;
  readonly transcript_id: number | null;
  readonly group_key: string | null;
}

export async function transcriptRows({ db }: CatalogReader, ids: readonly number[]): Promise<readonly TranscriptRow[]> {
  if (ids.length === 0) return [];
  return db
    .selectFrom("transcripts")
    .selectAll()
    .where("transcript_id", "in", [...ids])
    .execute();
}

interface MovedSession {
  readonly transcriptId: number;
  readonly dir: string;
}

/** Sessions whose record has another directory than their transcript. The record takes precedence. */
async function movedSessions({ db }: CatalogReader): Promise<readonly MovedSession[]> {
  // The cross join keeps SQLite from scanning all transcripts.
  const { rows } = await sql<{ transcript_id: number; dir: string }>`
    select t.transcript_id, s.dir from sessions s cross join transcripts t
    where t.session_id = s.session_id and t.agent = s.agent and t.listed = 1 and t.dir <> s.dir`.execute(db);
  return rows.map((row) => ({ transcriptId: row.transcript_id, dir: row.dir }));
}

/** Sessions that have a transcript. */
function catalogued(
  reader: CatalogReader,
  filter: SessionFilter,
  { moved, byTime }: { readonly moved: readonly MovedSession[]; readonly byTime: boolean },
) {
  const { dirs, since, idPrefix, agents, anyAgent } = filter;
  let query = reader.db
    .selectFrom("transcripts as t")
    .select([
      "t.session_id",
      "t.agent",
      "t.updated_at",
      sql<number | null>`t.transcript_id`.as("transcript_id"),
      noGroup,
    ])
    .where(sql<SqlBool>`t.listed = 1`);
  if (!anyAgent) query = query.where("t.agent", "in", [...agents]);
  if (dirs !== null) {
    // An expression prevents use of the index, so that the newest are scanned until the page is full.
    const dir = byTime ? sql<string>`(t.dir || '')` : sql<string>`t.dir`;
    const here = isIdAmong(reader, dir, dirs);
    const allowed = new Set(dirs);
    const ids = (some: readonly MovedSession[]) => sql.join([-1, ...some.map(({ transcriptId }) => transcriptId)]);
    const come = moved.filter((session) => allowed.has(session.dir));
    query = query.where(
      moved.length === 0
        ? here
        : sql<SqlBool>`((${here} and t.transcript_id not in (${ids(moved)})) or t.transcript_id in (${ids(come)}))`,
    );
  }
  if (since !== null) query = query.where("t.updated_at", ">=", since);
  if (idPrefix !== null) query = query.where(hasIdLike(sql<string>`t.session_id`, idPrefix));
  for (const condition of isNoted(reader, "t", filter.noted)) query = query.where(condition);
  return query.where(isWithTranscript(reader, filter));
}

type StatusFilter = Pick<SessionFilter, "status" | "alive" | "partial">;

/** Whether a session with the transcript `t` has the wanted status. */
export function isWithTranscript(reader: Pick<CatalogReader, "dialect">, { status, alive }: StatusFilter) {
  const all = [...alive.running, ...alive.starting];
  const isAlive = isIdAmong(reader, sql<string>`t.session_id`, all);
  if (status === "running") return isAlive;
  if (status === "completed" && all.length > 0) return sql<SqlBool>`not ${isAlive}`;
  return status === null || status === "completed" ? sql<SqlBool>`1 = 1` : sql<SqlBool>`1 = 0`;
}

/** Whether a session `s` without a transcript has the wanted status. */
export function isWithoutTranscript(reader: Pick<CatalogReader, "dialect">, { status, alive, partial }: StatusFilter) {
  const id = sql<string>`s.session_id`;
  const isAlive = isIdAmong(reader, id, [...alive.running, ...alive.starting]);
  if (status === "running") return isIdAmong(reader, id, alive.running);
  if (status === "initializing") return isIdAmong(reader, id, alive.starting);
  if (status === "failed")
    return partial ? sql<SqlBool>`not ${isAlive} and s.transcript_path is null` : sql<SqlBool>`not ${isAlive}`;
  if (status === "completed")
    return partial ? sql<SqlBool>`not ${isAlive} and s.transcript_path is not null` : sql<SqlBool>`1 = 0`;
  return sql<SqlBool>`1 = 1`;
}

/** Sessions without a transcript. */
function recorded(reader: CatalogReader, filter: SessionFilter) {
  const { dirs, since, idPrefix, agents } = filter;
  const id = sql<string>`s.session_id`;
  let query = reader.db
    .selectFrom("sessions as s")
    .select([
      "s.session_id",
      "s.agent",
      "s.updated_at",
      sql<number | null>`cast(null as bigint)`.as("transcript_id"),
      noGroup,
    ])
    .where("s.agent", "in", [...agents])
    .where(
      sql<SqlBool>`not exists (select 1 from transcripts t
        where t.session_id = s.session_id and t.agent = s.agent and t.listed = 1)`,
    );
  if (dirs !== null) query = query.where(isIdAmong(reader, sql<string>`s.dir`, dirs));
  if (since !== null) query = query.where("s.updated_at", ">=", since);
  if (idPrefix !== null) query = query.where(hasIdLike(id, idPrefix));
  for (const condition of isNoted(reader, "s", filter.noted)) query = query.where(condition);
  return query.where(isWithoutTranscript(reader, filter));
}

/** Compares characters, because a range of text depends on the collation of the database. */
function hasIdLike(id: Expression<string>, prefix: string): Expression<SqlBool> {
  const begins = (value: Expression<string>) =>
    sql<SqlBool>`substr(${value}, 1, ${sql.lit(Array.from(prefix).length)}) = ${prefix}`;
  const earlier = sql`select a.session_id from session_aliases a where ${begins(sql<string>`a.alias`)}`;
  return sql<SqlBool>`(${begins(id)} or ${id} in (${earlier}))`;
}

/** How many sessions of each directory have each label. */
export async function labelRows({
  db,
}: CatalogReader): Promise<readonly { readonly label: string; readonly dir: string; readonly sessions: number }[]> {
  const { rows } = await sql<{ label: string; dir: string; sessions: number }>`
    select label, dir, count(*) as sessions from (
      select l.label, coalesce(s.dir, t.dir) as dir from session_labels l
        left join sessions s on s.session_id = l.session_id and s.agent = l.agent
        left join transcripts t on t.session_id = l.session_id and t.agent = l.agent and t.listed = 1
    ) as labelled where dir is not null group by label, dir order by label`.execute(db);
  return rows;
}

export interface DirRow {
  readonly dir: string;
  readonly sessions: number;
  /** Epoch milliseconds. */
  readonly lastUsedAt: number;
}

/** Every directory with the number of its sessions. */
export async function dirRows({ db }: CatalogReader): Promise<readonly DirRow[]> {
  const { rows } = await sql<{ dir: string; sessions: number; last: number }>`
    select dir, count(*) as sessions, max(updated_at) as last from (
      select coalesce(s.dir, t.dir) as dir, t.updated_at from transcripts t
        left join sessions s on s.session_id = t.session_id and s.agent = t.agent where t.listed = 1
      union all
      select s.dir, s.updated_at from sessions s where not exists (
        select 1 from transcripts t where t.session_id = s.session_id and t.agent = s.agent and t.listed = 1)
    ) as placed where dir is not null group by dir`.execute(db);
  return rows.map(({ dir, sessions, last }) => ({ dir, sessions, lastUsedAt: last }));
}
