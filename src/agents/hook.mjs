// The one hook command of every agent that Postern starts. It appends what the agent reports to the session's inbox, whose path
// it gets by POSTERN_SESSION_INBOX, as one line of JSON. It says nothing and never fails the agent; only for a permission it waits
// for the gateway's decision, and passes that on.
import { readSync } from "node:fs";
import { appendLine, cut } from "./hook-inbox.mjs";

const maxInputBytes = 4 * 1024 * 1024;

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

try {
  const path = process.env.POSTERN_SESSION_INBOX;
  const input = path ? readInput() : null;
  if (path && input !== null) {
    const payload = JSON.parse(input, cut);
    const event = payload.hook_event_name;
    const socketPath = event === "PermissionRequest" ? process.env.POSTERN_SESSION_PERMISSIONS : undefined;
    // What is asked is known by the hash of its line: a line that nobody else can have written, or shown in another's place.
    const nonce = socketPath ? crypto.randomUUID() : undefined;
    const line = JSON.stringify({ at: Date.now(), payload, nonce });
    const told = appendLine(path, line, event);
    if (told && socketPath) {
      // Loaded here alone: every other hook keeps its agent waiting no longer than a start of Node.
      const { askForDecision, printDecision } = await import("./hook-permission.mjs");
      const note = (settled) => appendLine(path, settled, event);
      await askForDecision({ socketPath, line, note, pass: (answer) => printDecision(answer, input) });
    }
  }
} catch {
  // An agent goes on without Postern: a lost report is made good by the transcript.
}
