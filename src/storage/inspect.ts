import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { Kysely } from "kysely";
import { messageOf, PosternError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import { sqliteHeaderBytes } from "./database.ts";
import { appliedMigrations, describeUrl, migrate, migrationNames } from "./migrate.ts";
import type { Tables } from "./schema.ts";

/** The store as it lies there, opened so that nothing is written. */
export interface InspectedStore {
  /**
   * `missing`: none was made yet. `older`: the next start of a gateway brings it forward. `newer`: of a newer Postern. `damaged`: it
   * cannot be opened or read; `reason` says why.
   */
  readonly state: "missing" | "current" | "older" | "newer" | "damaged";
  /** The SQLite file, or host and database of PostgreSQL. */
  readonly place: string;
  readonly reason: string | null;
  /** For questions; an empty store when the state is not `current`. */
  readonly db: Kysely<Tables>;
  /** When the newest thing was written into it, epoch milliseconds; null when nothing was, or when it cannot be asked. */
  readonly newestAt: number | null;
  close(): Promise<void>;
}

/** A larger file takes seconds to be read through. */
const maxCheckedBytes = 64 * 1024 * 1024;

/** Looks at the store of this configuration. Never throws for what the store is. */
export async function inspectStore({
  url,
  path,
}: {
  readonly url: string | null;
  readonly path: string;
}): Promise<InspectedStore> {
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

/** Without a write-ahead log nobody has the file open, and SQLite need not make one to read it. */
async function openFile(path: string): Promise<Kysely<Tables>> {
  const { createSqliteDialect } = await import("./sqlite-driver.ts");
  const { size } = statSync(path);
  if (size < sqliteHeaderBytes)
    throw new PosternError("store_unavailable", `it has lost its content, the file has ${size} bytes`);
  const address = pathToFileURL(path);
  if (!existsSync(`${path}-wal`)) address.searchParams.set("immutable", "1");
  const database = new DatabaseSync(address, { readOnly: true, timeout: 1_000 });
  const { pages, pageBytes } = sizesOf(database);
  const [row] = pages * pageBytes > maxCheckedBytes ? [] : database.prepare("PRAGMA quick_check(1)").all();
  const said = row?.["quick_check"];
  if (row !== undefined && said !== "ok") {
    database.close();
    throw new PosternError("store_unavailable", `SQLite says: ${String(said)}`);
  }
  return new Kysely<Tables>({ dialect: createSqliteDialect(database) });
}

function sizesOf(database: DatabaseSync): { readonly pages: number; readonly pageBytes: number } {
  return {
    pages: Number(database.prepare("PRAGMA page_count").get()?.["page_count"]),
    pageBytes: Number(database.prepare("PRAGMA page_size").get()?.["page_size"]),
  };
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
  const told = await Promise.all([
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
  const times = told.flatMap((row) => (typeof row?.at === "number" ? [row.at] : []));
  return times.length === 0 ? null : Math.max(...times);
}
