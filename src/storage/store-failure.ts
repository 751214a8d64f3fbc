import { messageOf, PosternError } from "../core/errors.ts";

/**
 * The database or its disk failed, not the statement: the call can succeed later.
 * @see https://sqlite.org/rescode.html
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export class StoreFailure extends PosternError<"store_unavailable"> {
  constructor(cause: unknown) {
    super("store_unavailable", messageOf(cause), { cause });
  }
}

/** Busy, locked, out of memory, read-only, I/O error, corrupt, full, cannot open, not a database. */
const sqliteFailures: ReadonlySet<number> = new Set([5, 6, 7, 8, 10, 11, 13, 14, 26]);

/** Connection lost, out of resources (such as a full disk), stopped or cancelled, system error; and `25006`, read-only. */
const postgresFailures = /^(?:08|53|57|58)|^25006$/;

/** Whether SQLite reports a damaged file (SQLITE_CORRUPT) or no database (SQLITE_NOTADB). */
export function isDamaged(failure: unknown): boolean {
  const error = failure instanceof StoreFailure ? failure.cause : failure;
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return false;
  return [11, 26].includes(error.errcode & 0xff);
}

/** Turns `node:sqlite` errors about the file into a {@link StoreFailure}. */
export function sqliteFailure(error: unknown): unknown {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return error;
  return sqliteFailures.has(error.errcode & 0xff) ? new StoreFailure(error) : error; // extended codes keep it in the low byte
}

/** Turns `pg` errors about the server into a {@link StoreFailure}. Errors without a severity come from the connection. */
export function postgresFailure(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof StoreFailure) return error;
  if (!("severity" in error)) return new StoreFailure(error);
  const failed = "code" in error && typeof error.code === "string" && postgresFailures.test(error.code);
  return failed ? new StoreFailure(error) : error;
}
