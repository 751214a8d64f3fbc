// The hook command of every agent. Appends the agent's report as a line of JSON to the session's inbox, whose path is in
// POSTERN_SESSION_INBOX. It prints nothing and never makes the agent fail. Only for a permission, it waits for the gateway's decision and prints
// that.
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
    // Read to the end in any case: an agent may treat a closed pipe as an error.
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
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5); // stdin can be non-blocking
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
    // The hash of the line identifies the request: no other process can have written the same line.
    const nonce = socketPath ? crypto.randomUUID() : undefined;
    const line = JSON.stringify({ at: Date.now(), payload, nonce });
    const appended = appendLine(path, line, event);
    if (appended && socketPath) {
      // This module is loaded only here, so that every other hook delays its agent only by Node's startup.
      const { askForDecision, printDecision } = await import("./hook-permission.mjs");
      const note = (settled) => appendLine(path, settled, event);
      await askForDecision({ socketPath, line, note, pass: (answer) => printDecision(answer, input) });
    }
  }
} catch {
  // The agent continues without Postern. What a lost report contained is also in the transcript.
}
