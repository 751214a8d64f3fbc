import { type SqlBool, sql } from "kysely";
import type { CatalogDatabase } from "./catalog-database.ts";

/** A session that a search may show. */
export interface FoundRow {
  readonly sessionId: string;
  readonly agent: string;
  readonly transcriptId: number | null;
  readonly updatedAt: number;
}

/** Which of the sessions that were found the caller wants, and may see. */
export interface FoundFilter {
  readonly agents: readonly string[];
  /** Only those of these directories; null for any. */
  readonly dirs: ReadonlySet<string> | null;
}

type Reader = Pick<CatalogDatabase, "db" | "dialect">;

/** So many sessions without a title in a transcript are looked through, the newest. */
const maxRecorded = 5_000;

/** The sessions of these transcripts: of a transcript that is none's (a copy, a sub-agent's) there is none. */
export async function rowsOf(
  { db, dialect }: Reader,
  transcriptIds: readonly number[],
  filter: FoundFilter,
): Promise<readonly (FoundRow & { readonly transcriptId: number })[]> {
  if (transcriptIds.length === 0) return [];
  const wanted =
    dialect === "postgres"
      ? sql<SqlBool>`t.transcript_id = any(${`{${transcriptIds.join(",")}}`}::bigint[])`
      : sql<SqlBool>`t.transcript_id in (select value from json_each(${JSON.stringify(transcriptIds)}))`;
  const rows = await db
    .selectFrom("transcripts as t")
    .leftJoin("sessions as s", (join) =>
      join.onRef("s.session_id", "=", "t.session_id").onRef("s.agent", "=", "t.agent"),
    )
    .select(["t.session_id", "t.agent", "t.updated_at", "t.transcript_id", "t.dir", "s.dir as recorded_dir"])
    .where("t.listed", "=", 1)
    .where("t.agent", "in", [...filter.agents])
    .where(wanted)
    .execute();
  // The record knows better: an agent may have been told to work elsewhere than where it was started.
  return rows
    .filter((row) => isWanted(row.recorded_dir ?? row.dir, filter))
    .map((row) => ({
      sessionId: row.session_id,
      agent: row.agent,
      transcriptId: row.transcript_id,
      updatedAt: row.updated_at,
    }));
}

/** Sessions whose title only the record tells: they have no transcript, or one without a title. */
export async function recordedTitles(
  { db }: Reader,
  filter: FoundFilter,
): Promise<readonly (FoundRow & { readonly title: string })[]> {
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

/** Titles and first messages, by transcript. */
export async function headsOf(
  { db }: Reader,
  transcriptIds: readonly number[],
): Promise<ReadonlyMap<number, { readonly title: string | null; readonly firstMessage: string | null }>> {
  if (transcriptIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("transcripts")
    .select(["transcript_id", "title", "first_prompt"])
    .where("transcript_id", "in", [...transcriptIds])
    .execute();
  return new Map(rows.map((row) => [row.transcript_id, { title: row.title, firstMessage: row.first_prompt }]));
}

function isWanted(dir: string | null, { dirs }: FoundFilter): boolean {
  return dir !== null && (dirs === null || dirs.has(dir));
}
