import { PosternError } from "../core/errors.ts";

/** Errors of the memory. */
export type LogsErrorCode = "log_not_found" | "idempotency_conflict" | "invalid_request" | "dir_not_allowed";

/** The same error for missing entries and those of other accounts. */
export function logNotFound(): PosternError<LogsErrorCode> {
  return new PosternError("log_not_found", "Memory entry not found. `GET /api/v1/logs` lists all entries.");
}

/** Fits PostgreSQL's index entries, together with the account. */
const maxDirBytes = 2_048;

/** Whether the path fits the store. */
export function canKeepDir(dir: string): boolean {
  return Buffer.byteLength(dir) <= maxDirBytes;
}

export function dirTooLong(): PosternError<LogsErrorCode> {
  return new PosternError(
    "invalid_request",
    `The path of this directory is too long: memory keeps at most ${maxDirBytes} bytes. Use a shorter path.`,
  );
}
