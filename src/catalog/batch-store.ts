import { type Kysely, sql, type Transaction } from "kysely";
import type { CatalogDatabase } from "./catalog-database.ts";
import type { CatalogTables, TranscriptRow } from "./catalog-tables.ts";
import type { Checkpoint } from "./transcript-scan.ts";
import type { TextIndex } from "./turn-collector.ts";

const removedAtOnce = 500;

/** Nothing else may write to `database` at the same time. */
export function createBatchStore(deps: {
  readonly database: Pick<CatalogDatabase, "db">;
  readonly createTextIndex: (tx: Kysely<CatalogTables>) => TextIndex;
}) {
  const { database, createTextIndex } = deps;
  return {
    /** Stores rows and the text since their last checkpoint. */
    async put(batch: readonly Checkpoint[]): Promise<void> {
      await database.db.transaction().execute((tx) => storeBatch(tx, { batch, texts: createTextIndex(tx) }));
    },
    /** Forgets transcripts by their paths. */
    async remove(paths: readonly string[]): Promise<void> {
      for (let from = 0; from < paths.length; from += removedAtOnce) {
        const some = paths.slice(from, from + removedAtOnce);
        await database.db.transaction().execute((tx) => removeSome(tx, { paths: some, texts: createTextIndex(tx) }));
      }
    },
  };
}

export type BatchStore = ReturnType<typeof createBatchStore>;

async function storeBatch(
  tx: Transaction<CatalogTables>,
  { batch, texts }: { readonly batch: readonly Checkpoint[]; readonly texts: TextIndex },
): Promise<void> {
  // The later checkpoint of a file wins, but the texts of both count.
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

/** Of several transcripts of a session (a copied folder, an archive), lists the one written last. */
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

/** Bounds memory, and the delay until readers see new rows. */
const maxCheckpoints = 200;
const maxCharacters = 2_000_000;
/** Makes a first page of sessions visible early. */
const firstCheckpoints = 24;

/** One writer per catalog. Calls can overlap. @param deps `onStored` is called after each transaction */
export function createCatalogWriter(deps: { readonly store: BatchStore; onStored(): void }) {
  const { store, onStored } = deps;
  let waiting: Checkpoint[] = [];
  let characters = 0;
  let stored = 0;
  /** The last of the chained transactions. The next caller that waits receives its error. */
  let newest: Promise<void> = Promise.resolve();

  function write(task: () => Promise<void>): Promise<void> {
    newest = newest.then(task).then(onStored);
    newest.catch(() => undefined); // until the next waiter
    return newest;
  }

  function writeWaiting(): Promise<void> {
    const batch = waiting;
    waiting = [];
    characters = 0;
    if (batch.length === 0) return newest;
    stored += batch.length;
    return write(() => store.put(batch));
  }

  async function flush(): Promise<void> {
    try {
      await writeWaiting();
    } finally {
      newest = newest.catch(() => undefined); // reported; the next one starts fresh
    }
  }

  return {
    /** Queues a checkpoint. Waits if the queue is full. */
    async put(checkpoint: Checkpoint): Promise<void> {
      waiting.push(checkpoint);
      for (const { text } of checkpoint.texts) characters += text.length;
      const most = stored === 0 ? firstCheckpoints : maxCheckpoints;
      if (waiting.length < most && characters < maxCharacters) return;
      // Writes one batch while the next is read, to bound memory.
      const before = newest;
      void writeWaiting();
      await before;
    },
    /** Stores queued checkpoints. @throws the error of a failed transaction */
    flush,
    /** Forgets transcripts by their paths. */
    async remove(paths: readonly string[]): Promise<void> {
      await flush();
      if (paths.length > 0) await write(() => store.remove(paths));
    },
  };
}
