import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { PosternError } from "../core/errors.ts";
import { makePrivate } from "./sqlite.ts";

/** So long a copy waits for others' locks. In WAL mode nothing of theirs lasts. */
const busyMs = 5_000;

/**
 * Copies the SQLite store at `from`, as it is at one moment, into the new file `to` (mode 0600), while others read and write it. The copy has
 * no journal beside it, and nothing of what was deleted. This process stands still meanwhile.
 *
 * @returns the migrations that the copy has, in order
 * @throws PosternError `store_unavailable`
 */
export async function copySqliteStore(from: string, to: string): Promise<readonly string[]> {
  if (!existsSync(from)) throw new PosternError("store_unavailable", `There is no store at ${from}.`);
  makePrivate(to);
  const database = new DatabaseSync(from, { timeout: busyMs });
  try {
    database.prepare("vacuum into ?").run(to);
  } catch (error) {
    await rm(to, { force: true });
    throw error;
  } finally {
    database.close();
  }
  return schemaOfSqliteFile(to);
}

/** The migrations that a SQLite file has; none when it is no store. */
export function schemaOfSqliteFile(path: string): readonly string[] {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const known = database.prepare("select 1 from sqlite_master where name = 'kysely_migration'").get();
    if (known === undefined) return [];
    const rows = database.prepare("select name from kysely_migration order by name").all();
    return rows.map(({ name }) => String(name));
  } finally {
    database.close();
  }
}
