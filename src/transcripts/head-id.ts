import { closeSync, constants, openSync, readSync } from "node:fs";
import { isErrno } from "../core/errors.ts";
import { isUuid } from "../core/ids.ts";
import { parseLine, stringAt } from "./json-fields.ts";

/** Longer than any first line that was seen, which holds an id, a hash and two times. */
const maxHeadBytes = 4_096;

/**
 * The id of the session whose transcript has only its beginning in its name: `sessionId` of the first line, a UUID that begins so. Null
 * for another file, one that cannot be read, and one whose first line is not complete yet. Synchronous: some hundred bytes.
 */
export function headId(path: string, beginning: string | null): string | null {
  const [head] = firstBytes(path).toString("utf8").split("\n", 2);
  const line = head === undefined ? null : parseLine(Buffer.from(head));
  const id = line === null ? null : stringAt(line, "sessionId");
  return id !== null && isUuid(id) && beginning !== null && id.startsWith(beginning) ? id : null;
}

function firstBytes(path: string): Buffer {
  let file: number;
  try {
    // What is no file must not make anybody wait.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENXIO", "ENAMETOOLONG")) return Buffer.alloc(0);
    throw error;
  }
  try {
    const bytes = Buffer.alloc(maxHeadBytes);
    return bytes.subarray(0, readSync(file, bytes, 0, maxHeadBytes, 0));
  } catch (error) {
    if (isErrno(error, "EISDIR", "EAGAIN", "EIO", "ESPIPE")) return Buffer.alloc(0);
    throw error;
  } finally {
    closeSync(file);
  }
}
