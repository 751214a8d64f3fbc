import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { Kysely } from "kysely";
import { messageOf, PosternError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import { type DatabasePlace, sqliteHeaderBytes } from "./database.ts";
import { appliedMigrations, describeUrl, migrate, migrationNames } from "./migrate.ts";
import type { Tables } from "./schema.ts";

/** The store, opened read-only. */
export interface InspectedStore {
  /**
   * `missing`: not created yet. `older`: upgraded at the next start of a gateway. `newer`: written by a newer Postern. `damaged`: cannot be
   * opened or read, see `reason`.
   */
  readonly state: "missing" | "current" | "older" | "newer" | "damaged";
  /** The SQLite file, or host and database of PostgreSQL. */
  readonly place: string;
  readonly reason: string | null;
  /** An empty store unless the state is `current`. */
  readonly db: Kysely<Tables>;
  /** Epoch milliseconds of the newest record; null if none or unknown. */
  readonly newestAt: number | null;
  close(): Promise<void>;
}

/** A larger file takes seconds to check. */
const maxCheckedBytes = 64 * 1024 * 1024;

/** Inspects the configured store. Never throws because of its state. */
export async function inspectStore({ url, path }: DatabasePlace): Promise<InspectedStore> {
  const place = url === null ? path : describeUrl(url);
  const missing = url === null && !existsSync(path);
  if (missing) return { state: "missing", place, reason: null, newestAt: null, ...(await emptyStore()) };
  let opened: Kysely<Tables> | undefined;
  try {
    opened = url === null ? await openFile(path) : await openServer(url);
    const db = opened;
    const applied = await appliedMigrations(db);
    if (applied.some((name) => !migrationNames.includes(name))) return await instead("newer", null);
    if (applied.length < migrationNames.length) return await instead("older", null);
    const newestAt = await newestOf(db);
    return { state: "current", place, reason: null, db, newestAt, close: () => db.destroy() };
  } catch (error) {
    return await instead("damaged", messageOf(error));
  }

  async function instead(state: InspectedStore["state"], reason: string | null): Promise<InspectedStore> {
    await opened?.destroy();
    return { state, place, reason, newestAt: null, ...(await emptyStore()) };
  }
}

/** Without a write-ahead log no process has the file open; `immutable` keeps SQLite from creating one. */
async function openFile(path: string): Promise<Kysely<Tables>> {
  const { createSqliteDialect } = await import("./sqlite-driver.ts");
  const { size } = statSync(path);
  if (size < sqliteHeaderBytes)
    throw new PosternError("store_unavailable", `it has lost its content: the file is ${size} bytes long`);
  const address = pathToFileURL(path);
  if (!existsSync(`${path}-wal`)) address.searchParams.set("immutable", "1");
  const database = new DatabaseSync(address, { readOnly: true, timeout: 1_000 });
  const sizes = "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size";
  const isLarge = Number(database.prepare(sizes).get()?.["bytes"]) > maxCheckedBytes;
  const [row] = isLarge ? [] : database.prepare("PRAGMA quick_check(1)").all();
  const result = row?.["quick_check"];
  if (row !== undefined && result !== "ok") {
    database.close();
    throw new PosternError("store_unavailable", `SQLite reports: ${String(result)}`);
  }
  return new Kysely<Tables>({ dialect: createSqliteDialect(database) });
}

async function openServer(url: string): Promise<Kysely<Tables>> {
  const { createPostgresDialect } = await import("./postgres.ts");
  return new Kysely<Tables>({ dialect: await createPostgresDialect(url, silentLog, { maxConnections: 1 }) });
}

async function emptyStore(): Promise<Pick<InspectedStore, "db" | "close">> {
  const { createSqliteDialect } = await import("./sqlite-driver.ts");
  const db = new Kysely<Tables>({ dialect: createSqliteDialect(new DatabaseSync(":memory:")) });
  await migrate(db, "memory");
  return { db, close: () => db.destroy() };
}

async function newestOf(db: Kysely<Tables>): Promise<number | null> {
  const newest = await Promise.all([
    db
      .selectFrom("audit_entries")
      .select((of) => of.fn.max("at").as("at"))
      .executeTakeFirst(),
    db
      .selectFrom("sessions")
      .select((of) => of.fn.max("created_at").as("at"))
      .executeTakeFirst(),
    db
      .selectFrom("configured_agents")
      .select((of) => of.fn.max("configured_at").as("at"))
      .executeTakeFirst(),
  ]);
  const times = newest.flatMap((row) => (typeof row?.at === "number" ? [row.at] : []));
  return times.length === 0 ? null : Math.max(...times);
}
