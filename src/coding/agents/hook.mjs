// The one hook command of every agent that Postern starts. It appends what the agent reports to the session's inbox, whose path
// it gets by POSTERN_SESSION_INBOX, as one line of JSON. It says nothing, answers nothing, and never fails the agent.
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";

const maxInputBytes = 4 * 1024 * 1024;
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

function readInput() {
  const chunks = [];
  let sizeBytes = 0;
  const chunk = Buffer.allocUnsafe(64 * 1024);
  for (;;) {
    const bytesRead = readChunk(chunk);
    if (bytesRead === 0) return sizeBytes > maxInputBytes ? null : Buffer.concat(chunks).toString("utf8");
    sizeBytes += bytesRead;
    // Read to the end in any case: an agent whose hook stops reading may take that for an error.
    if (sizeBytes > maxInputBytes) chunks.length = 0;
    else chunks.push(Buffer.from(chunk.subarray(0, bytesRead)));
  }
}

function readChunk(chunk) {
  for (;;) {
    try {
      return readSync(0, chunk, 0, chunk.length, null);
    } catch (error) {
      if (error.code === "EOF") return 0;
      if (error.code !== "EAGAIN" && error.code !== "EINTR") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5); // stdin was handed over non-blocking
    }
  }
}

function cut(key, value) {
  if (typeof value !== "string" || value.length <= maxStringLength) return value;
  return value.slice(0, maxStringLength).toWellFormed();
}

function append(path, payload) {
  const inbox = openSync(
    path,
    constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    const { size } = fstatSync(inbox);
    if (size > hardInboxBytes) return;
    if (size > maxInboxBytes && !lifecycle.has(payload.hook_event_name)) return;
    // One write to a file opened for appending: lines of hooks that run at once never mix.
    writeSync(inbox, `${JSON.stringify({ at: Date.now(), payload })}\n`);
  } finally {
    closeSync(inbox);
  }
}

try {
  const path = process.env.POSTERN_SESSION_INBOX;
  const input = path ? readInput() : null;
  if (path && input !== null) append(path, JSON.parse(input, cut));
} catch {
  // An agent goes on without Postern: a lost report is made good by the transcript.
}
