import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { CatalogDatabase } from "./catalog-database.ts";
import type { HeadText } from "./query-search.ts";

/** Which found sessions the caller wants and can see. */
export interface FoundFilter {
  readonly agents: readonly string[];
  /** Null for any directory. */
  readonly dirs: ReadonlySet<string> | null;
}

type Reader = Pick<CatalogDatabase, "db" | "dialect">;

/** The newest sessions without a transcript title that are searched. */
const maxRecorded = 5_000;

/** The transcripts that the caller wants and can see, with the time of their last change. Leaves out copies and those of sub-agents. */
export async function wantedAmong(
  reader: Reader,
  transcriptIds: readonly number[],
  { agents, dirs }: FoundFilter,
): Promise<ReadonlyMap<number, number>> {
  if (transcriptIds.length === 0) return new Map();
  // The record takes precedence: an agent can work elsewhere than where it was started.
  const dir = sql<string>`coalesce((select s.dir from sessions s where s.session_id = t.session_id and s.agent = t.agent), t.dir)`;
  const postgres = reader.dialect === "postgres";
  const lists = sql.raw(postgres ? "json_agg" : "json_group_array");
  const from = sql.raw(postgres ? "transcripts t" : "transcripts t indexed by transcripts_found");
  const { rows } = await sql<{ ids: unknown; times: unknown }>`
    select ${lists}(t.transcript_id) as ids, ${lists}(t.updated_at) as times from ${from}
    where t.listed = 1 and t.agent in (${sql.join(agents)}) and ${isAmong(reader, transcriptIds)}
    and ${dirs === null ? sql`1 = 1` : isDirAmong(reader, dir, [...dirs])}`.execute(reader.db);
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

/** A session whose title is only on record. */
export interface RecordedTitle {
  readonly sessionId: string;
  readonly agent: string;
  readonly transcriptId: number | null;
  readonly updatedAt: number;
  readonly title: string;
}

/** Sessions without a transcript, or with one without a title, whose title is on record. */
export async function recordedTitles({ db }: Reader, filter: FoundFilter): Promise<readonly RecordedTitle[]> {
  const rows = await db
    .selectFrom("sessions as s")
    .leftJoin("transcripts as t", (join) =>
      join.onRef("t.session_id", "=", "s.session_id").onRef("t.agent", "=", "s.agent").on("t.listed", "=", 1),
    )
    .select([
      "s.session_id",
      "s.agent",
      "s.dir",
      "s.title",
      "s.updated_at",
      "t.transcript_id",
      "t.updated_at as written_at",
    ])
    .where("s.title", "is not", null)
    .where("t.title", "is", null)
    .where("s.agent", "in", [...filter.agents])
    .orderBy("s.updated_at", "desc")
    .limit(maxRecorded)
    .execute();
  return rows
    .filter((row) => isWanted(row.dir, filter))
    .map((row) => ({
      sessionId: row.session_id,
      agent: row.agent,
      transcriptId: row.transcript_id,
      updatedAt: row.written_at ?? row.updated_at,
      title: row.title ?? "",
    }));
}

function isWanted(dir: string | null, { dirs }: FoundFilter): boolean {
  return dir !== null && (dirs === null || dirs.has(dir));
}

/** SQLite returns a list as JSON, PostgreSQL as an array, or null if empty. */
function numbersIn(list: unknown): readonly number[] {
  const values: unknown = typeof list === "string" ? JSON.parse(list) : list;
  return Array.isArray(values) ? values.filter((value) => typeof value === "number") : [];
}

/** Takes one parameter for any number of ids. */
function isAmong({ dialect }: Reader, ids: readonly number[]): RawBuilder<SqlBool> {
  if (dialect === "postgres") return sql`t.transcript_id = any(${`{${ids.join(",")}}`}::bigint[])`;
  return sql`t.transcript_id in (select value from json_each(${JSON.stringify(ids)}))`;
}

function isDirAmong({ dialect }: Reader, dir: RawBuilder<string>, dirs: readonly string[]): RawBuilder<SqlBool> {
  if (dialect === "postgres") return sql`${dir} = any(${dirs}::text[])`;
  return sql`${dir} in (select value from json_each(${JSON.stringify(dirs)}))`;
}
