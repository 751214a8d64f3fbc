// Appends reports to a session's inbox, from a hook or from within an agent.
import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";

const maxStringLength = 16 * 1024;
// A restart reads the inbox from its start: beyond this size only the events that a session's state needs are added.
const maxInboxBytes = 64 * 1024 * 1024;
// Nothing is appended beyond this size, even for a session that runs for years.
const hardInboxBytes = 2 * maxInboxBytes;
const lifecycle = new Set([
  "SessionStart",
  "UserPromptSubmit",
  "PermissionRequest",
  "Stop",
  "StopFailure",
  "SessionEnd",
]);

/** A JSON reviver or replacer that cuts long strings, but never inside a character. */
export function cut(key, value) {
  if (typeof value !== "string" || value.length <= maxStringLength) return value;
  return value.slice(0, maxStringLength).toWellFormed();
}

/** @returns whether the line was appended */
export function appendLine(path, line, event) {
  const inbox = openSync(
    path,
    constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    const { size } = fstatSync(inbox);
    if (size > hardInboxBytes) return false;
    if (size > maxInboxBytes && !lifecycle.has(event)) return false;
    // One write to a file opened for appending: lines of concurrent hooks never mix.
    writeSync(inbox, `${line}\n`);
    return true;
  } finally {
    closeSync(inbox);
  }
}
