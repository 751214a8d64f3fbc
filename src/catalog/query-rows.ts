import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import type { CatalogDatabase } from "./catalog-database.ts";
import { isNoted, type NotedFilter } from "./noted-filter.ts";
import type { HeadText } from "./query-search.ts";
import { isWithoutTranscript, isWithTranscript, type SessionFilter } from "./session-rows.ts";

/** Which found sessions the caller wants and can see. */
export interface FoundFilter {
  readonly agents: readonly string[];
  /** Null for any directory. */
  readonly dirs: ReadonlySet<string> | null;
  readonly noted: NotedFilter;
  /** Only sessions with one of these statuses; null for any. */
  readonly status: SessionFilter["status"];
  readonly alive: SessionFilter["alive"];
  readonly partial: boolean;
}

type Reader = Pick<CatalogDatabase, "db" | "dialect">;

/** How many sessions without a transcript title are searched, newest first. */
const maxRecorded = 5_000;

/** The transcripts that the caller wants and can see, with the time of their last change. Leaves out copies and transcripts of sub-agents. */
export async function wantedAmong(
  reader: Reader,
  transcriptIds: readonly number[],
  filter: FoundFilter,
): Promise<ReadonlyMap<number, number>> {
  const { agents, dirs } = filter;
  if (transcriptIds.length === 0) return new Map();
  // The record takes precedence, because an agent can work in another directory than the one it was started in.
  const dir = sql<string>`coalesce((select s.dir from sessions s where s.session_id = t.session_id and s.agent = t.agent), t.dir)`;
  const postgres = reader.dialect === "postgres";
  const lists = sql.raw(postgres ? "json_agg" : "json_group_array");
  const from = sql.raw(postgres ? "transcripts t" : "transcripts t indexed by transcripts_found");
  const { rows } = await sql<{ ids: unknown; times: unknown }>`
    select ${lists}(t.transcript_id) as ids, ${lists}(t.updated_at) as times from ${from}
    where t.listed = 1 and t.agent in (${sql.join(agents)}) and ${isAmong(reader, transcriptIds)}
    and ${dirs === null ? sql`1 = 1` : isDirAmong(reader, dir, [...dirs])}
    and ${isWithTranscript(reader, filter)} and ${and(isNoted(reader, "t", filter.noted))}`.execute(reader.db);
  const [row] = rows;
  const times = numbersIn(row?.times);
  return new Map(numbersIn(row?.ids).map((id, at) => [id, times[at] ?? 0]));
}

export async function sessionsOf(
  { db }: Reader,
  transcriptIds: readonly number[],
): Promise<ReadonlyMap<number, { readonly sessionId: string; readonly agent: string; readonly head: HeadText }>> {
  if (transcriptIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("transcripts")
    .select(["transcript_id", "session_id", "agent", "title", "first_prompt"])
    .where("transcript_id", "in", [...transcriptIds])
    .execute();
  return new Map(
    rows.map((row) => [
      row.transcript_id,
      {
        sessionId: row.session_id,
        agent: row.agent,
        head: { title: row.title, firstMessage: row.first_prompt },
      },
    ]),
  );
}

/** A session whose title is in the store. */
export interface RecordedTitle {
  readonly sessionId: string;
  readonly agent: string;
  readonly transcriptId: number | null;
  readonly updatedAt: number;
  readonly title: string;
}

/** Sessions without a transcript, or with one without a title, whose title is on record. */
export async function recordedTitles(reader: Reader, filter: FoundFilter): Promise<readonly RecordedTitle[]> {
  const { rows } = await sql<TitleRow>`
    select s.session_id, s.agent, s.dir, s.title, t.transcript_id, coalesce(t.updated_at, s.updated_at) as updated_at
    from sessions s left join transcripts t on t.session_id = s.session_id and t.agent = s.agent and t.listed = 1
    where s.title is not null and t.title is null and s.agent in (${sql.join(filter.agents)})
    and ${hasStatus(reader, filter)} and ${and(isNoted(reader, "s", filter.noted))}
    order by s.updated_at desc limit ${sql.lit(maxRecorded)}`.execute(reader.db);
  return titlesIn(rows, filter);
}

/** Sessions that a person gave a title. */
export async function notedTitles(reader: Reader, filter: FoundFilter): Promise<readonly RecordedTitle[]> {
  const { rows } = await sql<TitleRow>`
    select n.session_id, n.agent, coalesce(s.dir, t.dir) as dir, n.title, t.transcript_id,
      coalesce(t.updated_at, s.updated_at) as updated_at
    from session_notes n left join sessions s on s.session_id = n.session_id and s.agent = n.agent
    left join transcripts t on t.session_id = n.session_id and t.agent = n.agent and t.listed = 1
    where n.title is not null and n.agent in (${sql.join(filter.agents)})
    and (t.transcript_id is not null or s.session_id is not null)
    and ${hasStatus(reader, filter)} and ${and(isNoted(reader, "n", filter.noted))}
    order by n.updated_at desc limit ${sql.lit(maxRecorded)}`.execute(reader.db);
  return titlesIn(rows, filter);
}

interface TitleRow {
  readonly session_id: string;
  readonly agent: string;
  readonly dir: string | null;
  readonly title: string;
  readonly transcript_id: number | null;
  readonly updated_at: number;
}

function titlesIn(rows: readonly TitleRow[], filter: FoundFilter): readonly RecordedTitle[] {
  return rows
    .filter(({ dir }) => isWanted(dir, filter))
    .map((row) => ({
      sessionId: row.session_id,
      agent: row.agent,
      transcriptId: row.transcript_id,
      updatedAt: row.updated_at,
      title: row.title,
    }));
}

/** Whether a session `s`, which may have a transcript `t`, has the wanted status. */
function hasStatus(reader: Reader, filter: FoundFilter): RawBuilder<SqlBool> {
  const [withTranscript, without] = [isWithTranscript(reader, filter), isWithoutTranscript(reader, filter)];
  return sql<SqlBool>`case when t.transcript_id is not null then (${withTranscript}) else (${without}) end`;
}

function and(conditions: readonly Expression<SqlBool>[]): RawBuilder<SqlBool> {
  return conditions.length === 0 ? sql<SqlBool>`1 = 1` : sql<SqlBool>`${sql.join(conditions, sql` and `)}`;
}

function isWanted(dir: string | null, { dirs }: FoundFilter): boolean {
  return dir !== null && (dirs === null || dirs.has(dir));
}

/** SQLite returns a list as JSON, PostgreSQL as an array, or null if empty. */
function numbersIn(list: unknown): readonly number[] {
  const values: unknown = typeof list === "string" ? JSON.parse(list) : list;
  return Array.isArray(values) ? values.filter((value) => typeof value === "number") : [];
}

/** Uses one SQL parameter for any number of ids. */
function isAmong({ dialect }: Reader, ids: readonly number[]): RawBuilder<SqlBool> {
  if (dialect === "postgres") return sql`t.transcript_id = any(${`{${ids.join(",")}}`}::bigint[])`;
  return sql`t.transcript_id in (select value from json_each(${JSON.stringify(ids)}))`;
}

function isDirAmong({ dialect }: Reader, dir: RawBuilder<string>, dirs: readonly string[]): RawBuilder<SqlBool> {
  if (dialect === "postgres") return sql`${dir} = any(${dirs}::text[])`;
  return sql`${dir} in (select value from json_each(${JSON.stringify(dirs)}))`;
}
