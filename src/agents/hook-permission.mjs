// A permission hook asks the gateway for the decision and waits. It needs no secret: a connection can only ask, and receives what a caller of
// the gateway decided. Without a decision it prints nothing, and the agent's own dialog stays.
import { createHash } from "node:crypto";
import { connect } from "node:net";

// A restarted gateway is back within seconds.
const maxAwayMs = 10_000;
const retryMs = 200;
const maxAnswerLength = 256 * 1024;

/**
 * Waits for the decision on this inbox line, passes it to the agent, and notes that in the inbox. Ends without a decision when `signal`
 * aborts.
 */
export async function askForDecision({ socketPath, line, note, pass, signal }) {
  const permissionId = createHash("sha256").update(line).digest("hex").slice(0, 32);
  let awaySince = Date.now();
  while (Date.now() - awaySince < maxAwayMs && !signal?.aborted) {
    const connectedAt = Date.now();
    const answer = await askOnce(socketPath, { permissionId, signal });
    if (answer !== null) return finish(answer, { permissionId, note, pass });
    // The time is counted from when the gateway disconnected, not from the first request.
    if (Date.now() - connectedAt > retryMs) awaySince = Date.now();
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/** @returns the gateway's answer and its connection; null if the connection is lost first */
function askOnce(socketPath, { permissionId, signal }) {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(socketPath, () => socket.write(`${JSON.stringify({ permissionId })}\n`));
    socket.setEncoding("utf8");
    signal?.addEventListener("abort", () => socket.destroy(), { once: true });
    socket.on("data", (chunk) => {
      text += chunk;
      const end = text.indexOf("\n");
      if (end === -1 && text.length <= maxAnswerLength) return;
      const answer = end === -1 ? null : parse(text.slice(0, end));
      if (answer === null) socket.destroy();
      resolve(answer === null ? null : { ...answer, socket });
    });
    socket.on("error", () => resolve(null)); // no gateway is listening: try again
    socket.on("close", () => resolve(null));
  });
}

function parse(text) {
  try {
    const answer = JSON.parse(text);
    return answer !== null && typeof answer === "object" ? answer : null;
  } catch {
    return null; // this message does not come from a gateway
  }
}

async function finish({ decision, input, socket }, { permissionId, note, pass }) {
  if (!decision) return socket.destroy();
  try {
    await pass({ decision, input });
  } catch (error) {
    socket.destroy(); // not delivered: the gateway expects no confirmation
    throw error;
  }
  // Tells a gateway that reads the inbox from its start that this request is closed.
  note(JSON.stringify({ at: Date.now(), permissionId, behavior: decision.behavior }));
  socket.end(`${JSON.stringify({ taken: true })}\n`);
}

/** `decision` is in the agent's own form. `input` is merged into the call's input. */
export async function printDecision({ decision, input: more }, payload) {
  const updated = more ? { updatedInput: { ...JSON.parse(payload).tool_input, ...more } } : {};
  const hookSpecificOutput = { hookEventName: "PermissionRequest", decision: { ...decision, ...updated } };
  await new Promise((resolve, reject) => {
    process.stdout.on("error", reject);
    process.stdout.write(JSON.stringify({ hookSpecificOutput }), (error) => (error ? reject(error) : resolve()));
  });
}
