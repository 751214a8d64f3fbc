import { type Kysely, sql, type Transaction } from "kysely";
import { appliedMigrations, applyMigrations, migrationNames, refuseNewer } from "./migrate.ts";
import type { Tables } from "./schema.ts";

/** A line of a dump: a table with its columns, then its rows. Referenced tables come first. */
export type DumpLine =
  | { readonly table: string; readonly columns: readonly string[] }
  | readonly (string | number | null)[];

/** Target size of a batch of rows. A row has at most a mebibyte. */
const pieceChars = 1024 * 1024;
const maxPieceRows = 1_000;
const firstPieceRows = 20;

/** All tables of the store; `upgrade.test.ts` compares them with what the migrations create. */
export const tableNames: readonly string[] = (
  "accounts passkeys audit_entries oauth_clients oauth_records oauth_keys personal_tokens sign_in_links " +
  "browser_sessions shares folders folder_profiles profile_proposals configured_agents sessions recordings session_aliases forgotten_sessions " +
  "session_notes session_labels session_seen session_drafts review_comments review_viewed comparisons comparison_sessions worktrees " +
  "queued_prompts idempotency_keys session_events session_event_memos event_marks webhooks webhook_deliveries " +
  "log_entries log_turns episodes log_chunks log_words log_postings entities statements facts log_marks " +
  "log_suppressions log_tombstones log_deletions log_deletion_entries chats chat_sessions chat_marks " +
  "chat_updates chat_messages push_keys push_preferences push_kinds push_subscriptions push_deliveries push_actions " +
  "permission_rules undriven_sessions attachments prompt_attachments"
).split(" ");

const migratorTables = ["kysely_migration", "kysely_migration_lock"];

/**
 * Dumps a consistent snapshot of a PostgreSQL store while others use it.
 * @param begin called first, with the store's migrations
 */
export async function dumpPostgres(
  db: Kysely<Tables>,
  begin: (schema: readonly string[]) => void,
  write: (lines: readonly DumpLine[]) => Promise<void>,
): Promise<void> {
  await db
    .transaction()
    .setIsolationLevel("repeatable read")
    .setAccessMode("read only")
    .execute(async (trx) => {
      begin(await appliedMigrations(trx));
      for (const table of await ownTables(trx)) {
        if (!migratorTables.includes(table)) await dumpTable(trx, table, write);
      }
    });
}

async function dumpTable(
  trx: Transaction<Tables>,
  table: string,
  write: (lines: readonly DumpLine[]) => Promise<void>,
): Promise<void> {
  const { rows: found } = await sql<{ name: string }>`select attname as name from pg_attribute
    where attrelid = to_regclass(${`"${table}"`}) and attnum > 0 and not attisdropped order by attnum`.execute(trx);
  const columns = found.map(({ name }) => name);
  await write([{ table, columns }]);
  await sql`declare dump no scroll cursor for select * from ${sql.table(table)}`.execute(trx);
  let count = firstPieceRows;
  for (;;) {
    const { rows } = await sql<Record<string, string | number | null>>`fetch ${sql.lit(count)} from dump`.execute(trx);
    if (rows.length === 0) break;
    const lines = rows.map((row) => columns.map((column) => row[column] ?? null));
    await write(lines);
    const chars = JSON.stringify(lines).length / rows.length;
    count = Math.max(1, Math.min(maxPieceRows, Math.floor(pieceChars / chars)));
  }
  await sql`close dump`.execute(trx);
}

/** The store's tables in this connection's schema, referenced ones first. The database can have others. */
export async function ownTables(trx: Kysely<Tables>): Promise<readonly string[]> {
  const { rows: found } = await sql<{ name: string }>`select relname as name from pg_class
    where relnamespace = to_regnamespace(current_schema()) and relkind in ('r', 'p') order by relname`.execute(trx);
  const names = found.map(({ name }) => name).filter((name) => [...tableNames, ...migratorTables].includes(name));
  const { rows: references } = await sql<{ child: string; parent: string }>`
    select child.relname as child, parent.relname as parent from pg_constraint
    join pg_class as child on child.oid = conrelid join pg_class as parent on parent.oid = confrelid
    where contype = 'f' and child.relnamespace = to_regnamespace(current_schema())`.execute(trx);
  const ordered: string[] = [];
  while (ordered.length < names.length) {
    const ready = names.filter(
      (name) =>
        !ordered.includes(name) &&
        references.every(({ child, parent }) => child !== name || parent === name || ordered.includes(parent)),
    );
    if (ready.length === 0) throw new Error("The store's tables refer to each other in a cycle.");
    ordered.push(...ready);
  }
  return ordered;
}

/** Moves the store's tables to a new schema. */
export async function moveTablesAside(trx: Transaction<Tables>, aside: string): Promise<void> {
  const names = await ownTables(trx);
  await sql`create schema ${sql.id(aside)}`.execute(trx);
  for (const name of names) await sql`alter table ${sql.table(name)} set schema ${sql.id(aside)}`.execute(trx);
}

/**
 * Creates and fills the tables of a dump and upgrades them, in this transaction.
 * @param schema the migrations of the dumped store
 * @throws PosternError `store_newer`
 */
export async function loadPostgres(
  trx: Transaction<Tables>,
  schema: readonly string[],
  lines: AsyncIterable<DumpLine>,
): Promise<void> {
  refuseNewer(schema, "the backup");
  await applyMigrations(trx, schema);
  let into: { readonly table: string; readonly columns: readonly string[] } | null = null;
  let piece: (readonly (string | number | null)[])[] = [];
  let chars = 0;
  const flush = async (): Promise<void> => {
    if (into !== null && piece.length > 0) await insertRows(trx, into, piece);
    piece = [];
    chars = 0;
  };
  for await (const line of lines) {
    if ("table" in line) {
      await flush();
      if (!tableNames.includes(line.table)) throw new Error(`The backup has rows for an unknown table, ${line.table}.`);
      into = line;
      continue;
    }
    piece.push(line);
    chars += line.reduce<number>((sum, cell) => sum + (typeof cell === "string" ? cell.length : 8), 0);
    if (chars >= pieceChars || piece.length >= maxPieceRows) await flush();
  }
  await flush();
  await setSerials(trx);
  await applyMigrations(
    trx,
    migrationNames.filter((name) => !schema.includes(name)),
  );
}

async function insertRows(
  trx: Transaction<Tables>,
  { table, columns }: { readonly table: string; readonly columns: readonly string[] },
  rows: readonly (readonly (string | number | null)[])[],
): Promise<void> {
  const names = sql.join(columns.map((column) => sql.id(column)));
  const json = JSON.stringify(rows.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at]]))));
  await sql`insert into ${sql.table(table)} (${names})
    select ${names} from json_populate_recordset(null::${sql.table(table)}, ${json}::json)`.execute(trx);
}

/** Continues sequences after the loaded ids. */
async function setSerials(trx: Transaction<Tables>): Promise<void> {
  const { rows } = await sql<{ table: string; column: string }>`
    select table_name as "table", column_name as "column" from information_schema.columns
    where table_schema = current_schema() and column_default like 'nextval(%'`.execute(trx);
  for (const { table, column } of rows) {
    if (!tableNames.includes(table)) continue;
    await sql`select setval(pg_get_serial_sequence(${`"${table}"`}, ${column}),
      (select coalesce(max(${sql.ref(column)}), 0) + 1 from ${sql.table(table)}), false)`.execute(trx);
  }
}
