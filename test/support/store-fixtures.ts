import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { withRawDatabase } from "../../src/storage/database.ts";
import { applyMigrations, migrationNames } from "../../src/storage/migrate.ts";
import { storeRows } from "./store-rows.ts";
import { makeTestFolder } from "./test-folder.ts";

const separator = ";\n";
const rowsMark = "-- rows\n";

/** A store of an earlier version, as SQL. */
export interface StoreFixture {
  /** What made its tables on SQLite. */
  readonly tables: readonly string[];
  /** The same on both stores. */
  readonly rows: readonly string[];
}

function pathOf(name: string): string {
  return join(import.meta.dirname, "../fixtures/stores", `${name}.sql`);
}

/** The store of the version whose newest migration was `name`. */
export async function readStoreFixture(name: string): Promise<StoreFixture> {
  const [tables = "", rows = ""] = (await readFile(pathOf(name), "utf8")).split(rowsMark);
  const statements = (text: string) => text.split(separator).filter((one) => one.trim() !== "");
  return { tables: statements(tables), rows: statements(rows) };
}

/** The tables that the migrations up to `name` make on SQLite now. */
export async function tablesUpTo(name: string): Promise<readonly string[]> {
  const folder = makeTestFolder("fixture");
  const path = join(folder, "store.db");
  try {
    await withRawDatabase({ url: null, path }, ({ db }) =>
      db.transaction().execute((trx) => applyMigrations(trx, schemaUpTo(name))),
    );
    const database = new DatabaseSync(path);
    const rows = database.prepare("select sql from sqlite_master where sql is not null order by rowid").all();
    database.close();
    return rows.map(({ sql }) => String(sql).replaceAll(/\s+/g, " "));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The migrations up to `name`, in order. */
export function schemaUpTo(name: string): readonly string[] {
  return migrationNames.slice(0, migrationNames.indexOf(name) + 1);
}

/** Writes the fixture of the newest migration. Fixtures of released versions are never regenerated. */
export async function writeStoreFixture(name: string): Promise<void> {
  const schema = schemaUpTo(name);
  const tables = await tablesUpTo(name);
  const rows = schema.flatMap((one) => (storeRows[one] ?? []).map(([table, row]) => insert(table, row)));
  const applied = schema.map((one) => insert("kysely_migration", { name: one, timestamp: "2026-01-01T00:00:00.000Z" }));
  const text = (statements: readonly string[]) => statements.map((one) => `${one}${separator}`).join("");
  await writeFile(pathOf(name), `${text([...tables, ...applied])}${rowsMark}${text(rows)}`);
}

function insert(table: string, row: Readonly<Record<string, string | number | null>>): string {
  const columns = Object.keys(row).map((column) => `"${column}"`);
  const values = Object.values(row).map((value) =>
    typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value),
  );
  return `insert into "${table}" (${columns.join(", ")}) values (${values.join(", ")})`;
}

// `node test/support/store-fixtures.ts 0009-tombstones` writes the fixture of a new migration.
if (import.meta.main) for (const name of process.argv.slice(2)) await writeStoreFixture(name);
