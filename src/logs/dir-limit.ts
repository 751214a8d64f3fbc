import { PosternError } from "../core/errors.ts";
import type { LogsErrorCode } from "./errors.ts";

/** Of a path in UTF-8: what PostgreSQL's indexes take, with room for the account. */
const maxDirBytes = 2_048;

/** Whether the store can keep the path of a directory. */
export function canKeepDir(dir: string): boolean {
  return Buffer.byteLength(dir) <= maxDirBytes;
}

/** @see canKeepDir */
export function dirTooLong(): PosternError<LogsErrorCode> {
  return new PosternError(
    "invalid_request",
    `The path of this directory is too long to be remembered: at most ${maxDirBytes} bytes. Use one nearer to the root.`,
  );
}
