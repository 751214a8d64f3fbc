import { PosternError } from "../core/errors.ts";

/** Why the memory refuses. An entry of another account is not found, as one that never was. */
export type LogsErrorCode = "log_not_found" | "idempotency_conflict" | "invalid_request" | "dir_not_allowed";

/** The one answer for what is not there and what is another's. */
export function logNotFound(): PosternError<LogsErrorCode> {
  return new PosternError("log_not_found", "There is no log entry with this id. `GET /api/v1/logs` lists them.");
}

/** Of a path in UTF-8: what PostgreSQL's indexes take, with room for the account. */
const maxDirBytes = 2_048;

/** Whether the store can keep the path of a directory. */
export function canKeepDir(dir: string): boolean {
  return Buffer.byteLength(dir) <= maxDirBytes;
}

export function dirTooLong(): PosternError<LogsErrorCode> {
  return new PosternError(
    "invalid_request",
    `The path of this directory is too long to be remembered: at most ${maxDirBytes} bytes. Use one nearer to the root.`,
  );
}
