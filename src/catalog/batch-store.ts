import { type Kysely, sql, type Transaction } from "kysely";
import type { CatalogDatabase } from "./catalog-database.ts";
import type { CatalogTables, TranscriptRow } from "./catalog-tables.ts";
import type { Checkpoint } from "./transcript-scan.ts";
import type { TextIndex } from "./turn-collector.ts";

/** Writes to the catalog, each call in short transactions of its own. Calls must not overlap. */
export interface BatchStore {
  /** Rows, and what was said in them since their last checkpoint. */
  put(batch: readonly Checkpoint[]): Promise<void>;
  /** Forgets transcripts by their paths. */
  remove(paths: readonly string[]): Promise<void>;
}

const removedAtOnce = 500;

/** Over a connection of its own, or one that nothing else writes to meanwhile. */
export function createBatchStore(deps: {
  readonly database: Pick<CatalogDatabase, "db">;
  readonly createTextIndex: (tx: Kysely<CatalogTables>) => TextIndex;
}): BatchStore {
  const { database, createTextIndex } = deps;
  return {
    async put(batch) {
      await database.db.transaction().execute((tx) => store(tx, { batch, texts: createTextIndex(tx) }));
    },
    async remove(paths) {
      for (let from = 0; from < paths.length; from += removedAtOnce) {
        const some = paths.slice(from, from + removedAtOnce);
        await database.db.transaction().execute((tx) => removeSome(tx, { paths: some, texts: createTextIndex(tx) }));
      }
    },
  };
}

async function store(
  tx: Transaction<CatalogTables>,
  { batch, texts }: { readonly batch: readonly Checkpoint[]; readonly texts: TextIndex },
): Promise<void> {
  // Of two checkpoints of one file the later one counts; both have texts.
  const rows = new Map(batch.map(({ row }) => [row.path, { ...row, listed: 0 }]));
  await upsert(tx, [...rows.values()]);
  await relist(tx, [...new Set([...rows.values()].map((row) => row.session_id))]);
  const added = new Set<number>();
  for (const { row, texts: pieces, from } of batch) {
    if (from === "new") added.add(row.transcript_id);
    if (from === "again") await texts.remove(row.transcript_id);
    if (row.kind === "part") continue;
    await texts.add(row.transcript_id, pieces, { isNew: from === "new" });
  }
  for (const row of rows.values()) {
    if (row.kind === "part" || row.unreadable === 1) continue;
    const head = { title: row.title, firstMessage: row.first_prompt };
    await texts.setHead(row.transcript_id, head, { isNew: added.has(row.transcript_id) });
  }
}

async function removeSome(
  tx: Transaction<CatalogTables>,
  { paths, texts }: { readonly paths: readonly string[]; readonly texts: TextIndex },
): Promise<void> {
  const gone = await tx
    .deleteFrom("transcripts")
    .where("path", "in", [...paths])
    .returning(["transcript_id", "session_id"])
    .execute();
  for (const { transcript_id } of gone) await texts.remove(transcript_id);
  await relist(tx, [...new Set(gone.map((row) => row.session_id))]);
}

async function upsert(tx: Transaction<CatalogTables>, rows: readonly TranscriptRow[]): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const columns = Object.keys(first).filter((name) => name !== "path");
  await tx
    .insertInto("transcripts")
    .values([...rows])
    .onConflict((conflict) =>
      conflict
        .column("path")
        .doUpdateSet(Object.fromEntries(columns.map((name) => [name, sql.ref(`excluded.${name}`)]))),
    )
    .execute();
}

/** Of the transcripts of one session (a copied folder, an archive) the one written last is the one that counts. */
async function relist(tx: Transaction<CatalogTables>, sessionIds: readonly string[]): Promise<void> {
  if (sessionIds.length === 0) return;
  await sql`
    update transcripts set listed = case when transcript_id = (
      select other.transcript_id from transcripts as other
      where other.session_id = transcripts.session_id and other.agent = transcripts.agent
        and other.kind = 'session' and other.dir is not null and other.unreadable = 0
      order by other.updated_at desc, other.path desc limit 1
    ) then 1 else 0 end
    where session_id in (${sql.join(sessionIds)})`.execute(tx);
}
