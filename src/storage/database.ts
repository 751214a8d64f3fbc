import { Kysely } from "kysely";
import { messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { describeUrl, migrate } from "./migrate.ts";
import type { Tables } from "./schema.ts";

/**
 * Why the store cannot be used: `store_newer` was written by a newer Postern, `store_unavailable` cannot be reached, opened or
 * brought to this version.
 */
export type StorageErrorCode = "store_newer" | "store_unavailable";

/** The open store. */
export interface Database {
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
  /** Idempotent. */
  close(): Promise<void>;
}

/** Where the store is: PostgreSQL at `url`, or with null the SQLite file at `path`. */
export interface DatabaseOptions {
  readonly url: string | null;
  readonly path: string;
  readonly log: Log;
}

/**
 * Opens the store and brings it to this version's tables. Gateway and commands may do so at the same time.
 *
 * @throws PosternError `store_newer` | `store_unavailable`
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, path, log } = options;
  const place = url === null ? path : describeUrl(url);
  let db: Kysely<Tables> | undefined;
  try {
    db = url === null ? await openSqlite(path) : await openPostgres(url, log);
    await migrate(db, place);
  } catch (error) {
    await db?.destroy();
    if (error instanceof PosternError) throw error;
    throw new PosternError("store_unavailable", `Cannot open the store at ${place}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  const opened = db;
  let closing: Promise<void> | undefined;
  return {
    db: opened,
    dialect: url === null ? "sqlite" : "postgres",
    close: () => (closing ??= opened.destroy()),
  };
}

// Each dialect is loaded when it is used: `pg` costs a start 30 ms that SQLite does not need.
async function openSqlite(path: string): Promise<Kysely<Tables>> {
  const { createSqliteDialect, openSqliteFile } = await import("./sqlite.ts");
  return new Kysely<Tables>({ dialect: createSqliteDialect(await openSqliteFile(path)) });
}

async function openPostgres(url: string, log: Log): Promise<Kysely<Tables>> {
  const { createPostgresDialect } = await import("./postgres.ts");
  return new Kysely<Tables>({ dialect: await createPostgresDialect(url, log) });
}
