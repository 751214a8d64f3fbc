import { type Kysely, sql } from "kysely";
import { entityIdOf, statementIdOf } from "../../src/logs/assertion.ts";
import type { Tables } from "../../src/storage/schema.ts";
import type { TestStore } from "./database.ts";

/** Entries that are written together. */
const entriesAtOnce = 1_000;
const wordsOfEntry = 10;

type Rows = readonly Readonly<Record<string, string | number>>[];

/**
 * Fills the tables as that many submitted entries of one session would, in bulk, for submitting thousands takes long: each has 20 words
 * (half of them in no other) and three facts (two of them in no other).
 */
export async function seedSession(
  { db, dialect }: Pick<TestStore, "db" | "dialect">,
  session: { readonly accountId: string; readonly sessionId: string; readonly entries: number },
): Promise<void> {
  for (let from = 0; from < session.entries; from += entriesAtOnce) {
    const end = Math.min(session.entries, from + entriesAtOnce);
    const numbers = Array.from({ length: end - from }, (_, n) => from + n);
    await db.transaction().execute(async (tx) => {
      for (const [table, rows] of Object.entries(rowsOf(numbers, { ...session, ...(await firstIds(tx)) }))) {
        await insert(tx, dialect, { table, rows });
      }
      if (dialect === "postgres") await setSerials(tx);
    });
  }
}

interface Ids {
  readonly chunk: number;
  readonly word: number;
}

async function firstIds(tx: Kysely<Tables>): Promise<Ids> {
  const { rows } = await sql<Ids>`select (select coalesce(max(chunk_id), 0) + 1 from log_chunks) as chunk,
    (select coalesce(max(word_id), 0) + 1 from log_words) as word`.execute(tx);
  return rows[0] ?? { chunk: 1, word: 1 };
}

function rowsOf(
  numbers: readonly number[],
  { accountId, sessionId, chunk, word }: Ids & { readonly accountId: string; readonly sessionId: string },
): Readonly<Record<string, Rows>> {
  const account = { account_id: accountId };
  const first = numbers[0] ?? 0;
  const idOf = (n: number) => `${sessionId}-${String(n).padStart(8, "0")}`;
  const shared = Array.from({ length: wordsOfEntry }, (_, m) => `common${Math.floor(first / entriesAtOnce)}x${m}`);
  const wordsOf = (n: number) => [...shared, ...shared.map((_, m) => `${sessionId}${n}x${m}`)];
  const contentOf = (n: number) => wordsOf(n).join(" ");
  const wordIds = new Map([...new Set(numbers.flatMap(wordsOf))].map((one, at) => [one, word + at]));
  const said = (n: number) =>
    [`https://one.example/${n}`, `https://other.example/${n}`, "https://all.example"].map((key, position) => {
      const entity_id = entityIdOf(accountId, { type: "Url", key });
      const statement_id = statementIdOf(entity_id, { predicate: "mentioned", object: "seeded" });
      return { ...account, n, position, key, entity_id, statement_id };
    });
  const all = numbers.flatMap(said);
  return {
    log_entries: numbers.map((n) => ({
      ...{ log_id: idOf(n), ...account, source: "api", session_id: sessionId, form: "text", content: contentOf(n) },
      ...{ context: '{"agent":null,"repository":null,"branch":null}', observed_at: n, recorded_at: n, status: "ready" },
    })),
    episodes: numbers.map((n) => ({ log_id: idOf(n), ...account, characters: contentOf(n).length, created_at: 1 })),
    log_chunks: numbers.map((n) => ({
      ...{ chunk_id: chunk + n - first, log_id: idOf(n), ...account, position: 0, content: contentOf(n) },
    })),
    log_words: Array.from(wordIds, ([one, word_id]) => ({ word_id, ...account, word: one })),
    log_postings: numbers.flatMap((n) =>
      wordsOf(n).map((one) => ({ word_id: wordIds.get(one) ?? 0, chunk_id: chunk + n - first, occurrences: 1 })),
    ),
    entities: all.map(({ entity_id, key }) => ({ entity_id, ...account, type: "Url", key })),
    statements: all.map(({ statement_id, entity_id }) => ({
      ...{ statement_id, ...account, subject_id: entity_id, predicate: "mentioned", value: "seeded" },
    })),
    facts: all.map(({ n, position, statement_id, entity_id }) => ({
      ...{ log_id: idOf(n), position, ...account, statement_id, subject_id: entity_id, predicate: "mentioned" },
      ...{ valid_from: n, recorded_at: n, extractor: "rules@1" },
    })),
  };
}

async function insert(
  tx: Kysely<Tables>,
  dialect: TestStore["dialect"],
  { table, rows }: { readonly table: string; readonly rows: Rows },
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const names = sql.join(columns.map((column) => sql.ref(column)));
  const json = JSON.stringify(rows);
  const values = sql.join(columns.map((column) => sql`item.value->>${sql.lit(column)}`));
  const from =
    dialect === "sqlite"
      ? sql`select ${values} from json_each(${json}) as item where true`
      : sql`select ${names} from json_populate_recordset(null::${sql.table(table)}, ${json}::json)`;
  await sql`insert into ${sql.table(table)} (${names}) ${from} on conflict do nothing`.execute(tx);
}

async function setSerials(tx: Kysely<Tables>): Promise<void> {
  for (const [table, column] of Object.entries({ log_chunks: "chunk_id", log_words: "word_id" })) {
    await sql`select setval(pg_get_serial_sequence(${table}, ${column}), (select max(${sql.ref(column)}) from ${sql.table(table)}))`.execute(
      tx,
    );
  }
}
