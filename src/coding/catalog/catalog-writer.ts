import { type Kysely, sql, type Transaction } from "kysely";
import type { CatalogDatabase } from "./catalog-database.ts";
import type { CatalogTables, TranscriptRow } from "./catalog-tables.ts";
import type { Checkpoint } from "./transcript-scan.ts";
import type { TextIndex } from "./turn-text.ts";

/** Stores what scans found, many checkpoints in one short transaction. */
export interface CatalogWriter {
  /** Stored soon, and together with all that is waiting; waits when that is much. */
  put(checkpoint: Checkpoint): Promise<void>;
  /** Stores what is waiting. @throws the error of a transaction that failed */
  flush(): Promise<void>;
  /** Forgets transcripts by their paths. */
  remove(paths: readonly string[]): Promise<void>;
}

/** What {@link createCatalogWriter} needs. */
export interface CatalogWriterDeps {
  readonly database: CatalogDatabase;
  readonly createTextIndex: (tx: Kysely<CatalogTables>) => TextIndex;
  /** Called after each transaction. */
  onStored(): void;
}

/** A transaction with more than this would hold up the next reader's look at what is new, and the memory. */
const maxCheckpoints = 200;
const maxCharacters = 2_000_000;
/** A first page of sessions is there to be read before the rest is. */
const firstCheckpoints = 24;
const removedAtOnce = 500;

/** One writer for each catalog. Calls may overlap. */
export function createCatalogWriter(deps: CatalogWriterDeps): CatalogWriter {
  const { database, createTextIndex } = deps;
  let waiting: Checkpoint[] = [];
  let characters = 0;
  let stored = 0;
  let writing: Promise<void> = Promise.resolve();

  function write(task: (tx: Transaction<CatalogTables>) => Promise<void>): Promise<void> {
    const mine = writing.then(async () => {
      await database.db.transaction().execute(task);
      deps.onStored();
    });
    writing = mine.catch(() => undefined); // whoever asked hears of it; the next one begins anew
    return mine;
  }

  async function flush(): Promise<void> {
    const batch = waiting;
    waiting = [];
    characters = 0;
    if (batch.length === 0) return writing;
    stored += batch.length;
    return write((tx) => store(tx, batch));
  }

  async function store(tx: Transaction<CatalogTables>, batch: readonly Checkpoint[]): Promise<void> {
    // Of two checkpoints of one file the later one counts; both have texts.
    const rows = new Map(batch.map(({ row }) => [row.path, { ...row, listed: 0 }]));
    await upsert(tx, [...rows.values()]);
    await relist(tx, [...new Set([...rows.values()].map((row) => row.session_id))]);
    const texts = createTextIndex(tx);
    for (const { row, texts: pieces, restarted } of batch) {
      if (restarted) await texts.remove(row.transcript_id);
      if (row.kind === "part") continue;
      await texts.add(row.transcript_id, pieces);
    }
    for (const row of rows.values()) {
      if (row.kind === "part" || row.unreadable === 1) continue;
      await texts.setHead(row.transcript_id, { title: row.title, firstMessage: row.first_prompt });
    }
  }

  return {
    async put(checkpoint) {
      waiting.push(checkpoint);
      for (const { text } of checkpoint.texts) characters += text.length;
      const most = stored === 0 ? firstCheckpoints : maxCheckpoints;
      if (waiting.length >= most || characters >= maxCharacters) await flush();
    },
    flush,
    async remove(paths) {
      await flush();
      for (let from = 0; from < paths.length; from += removedAtOnce) {
        const some = paths.slice(from, from + removedAtOnce);
        await write(async (tx) => {
          const gone = await tx
            .deleteFrom("transcripts")
            .where("path", "in", some)
            .returning(["transcript_id", "session_id"])
            .execute();
          const texts = createTextIndex(tx);
          for (const { transcript_id } of gone) await texts.remove(transcript_id);
          await relist(tx, [...new Set(gone.map((row) => row.session_id))]);
        });
      }
    },
  };
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
