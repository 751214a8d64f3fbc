// How a report gets into a session's inbox, from a hook of an agent or from within one.
import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";

const maxStringLength = 16 * 1024;
// The inbox is read again from its beginning after a restart: beyond this size only what a session's state needs goes in.
const maxInboxBytes = 64 * 1024 * 1024;
// A session that runs for years still ends here.
const hardInboxBytes = 2 * maxInboxBytes;
const lifecycle = new Set([
  "SessionStart",
  "UserPromptSubmit",
  "PermissionRequest",
  "Stop",
  "StopFailure",
  "SessionEnd",
]);

/** Goes into `JSON.parse` or `JSON.stringify`: long strings are cut, never inside a character. */
export function cut(key, value) {
  if (typeof value !== "string" || value.length <= maxStringLength) return value;
  return value.slice(0, maxStringLength).toWellFormed();
}

/** @returns whether the line is in the inbox */
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
    // One write to a file opened for appending: lines of hooks that run at once never mix.
    writeSync(inbox, `${line}\n`);
    return true;
  } finally {
    closeSync(inbox);
  }
}
