import type { Kysely } from "kysely";
import type { CatalogTables, TranscriptRow } from "./catalog-tables.ts";
import { type FileState, type FoundFile, type TranscriptFile, transcriptAt } from "./transcript-walk.ts";

const columns = [
  "path",
  "file_key",
  "size_bytes",
  "modified_at",
  "complete",
  "unreadable",
  "session_id",
  "agent",
] as const satisfies readonly (keyof TranscriptRow)[];

/** The columns that show whether a transcript's file changed. A sweep keeps them in memory for all transcripts. */
export type StoredState = Pick<TranscriptRow, (typeof columns)[number]>;

const pathsAtOnce = 500;

/** Stored transcripts by path. */
export function createStoredStates(db: Kysely<CatalogTables>) {
  let newest: Promise<number> | null = null;

  async function newestId(): Promise<number> {
    const row = await db
      .selectFrom("transcripts")
      .select(({ fn }) => fn.max<number | null>("transcript_id").as("id"))
      .executeTakeFirstOrThrow();
    return row.id ?? 0;
  }

  return {
    async all(): Promise<Map<string, StoredState>> {
      const rows = await db.selectFrom("transcripts").select(columns).execute();
      return new Map(rows.map((row) => [row.path, row]));
    },
    async of(paths: readonly string[]): Promise<ReadonlyMap<string, StoredState>> {
      const states = new Map<string, StoredState>();
      for (let from = 0; from < paths.length; from += pathsAtOnce) {
        const some = paths.slice(from, from + pathsAtOnce);
        const rows = await db.selectFrom("transcripts").select(columns).where("path", "in", some).execute();
        for (const row of rows) states.set(row.path, row);
      }
      return states;
    },
    async row(path: string): Promise<TranscriptRow | null> {
      return (await db.selectFrom("transcripts").selectAll().where("path", "=", path).executeTakeFirst()) ?? null;
    },
    /** Every transcript of these sessions. */
    async pathsOf(sessions: readonly Pick<TranscriptRow, "agent" | "session_id">[]): Promise<readonly string[]> {
      const paths: string[] = [];
      for (const { agent, session_id } of sessions) {
        const rows = await db
          .selectFrom("transcripts")
          .select("path")
          .where("session_id", "=", session_id)
          .where("agent", "=", agent)
          .execute();
        paths.push(...rows.map(({ path }) => path));
      }
      return paths;
    },
    /** An id for a new transcript. Only one process writes a catalog. */
    newId(): Promise<number> {
      newest = (newest ?? newestId()).then((id) => id + 1);
      return newest;
    },
    /** To be called when the catalog was emptied. */
    forget(): void {
      newest = null;
    },
  };
}

/** The transcript in a found file; null if its session is unknown. An unchanged file is not opened. */
export function transcriptOf({ source, path, state }: FoundFile, row: StoredState | undefined): TranscriptFile | null {
  const isSame = row !== undefined && row.agent === source.agent && isSameFile(row, state);
  return transcriptAt(source, path, isSame ? row.session_id : null);
}

/** An unreadable file counts as changed, because a change of its permissions does not show in its state. */
export function isUnchanged(row: StoredState, file: TranscriptFile, state: FileState): boolean {
  return (
    row.complete === 1 &&
    row.unreadable === 0 &&
    row.session_id === file.sessionId &&
    row.agent === file.agent &&
    isSameFile(row, state)
  );
}

function isSameFile(row: StoredState, state: FileState): boolean {
  return row.size_bytes === state.sizeBytes && row.modified_at === state.modifiedAt && row.file_key === state.fileKey;
}
