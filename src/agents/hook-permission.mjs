// A hook that was asked for a permission asks the gateway for the decision and waits. It shows no secret, and needs none: whoever
// connects can only ask, and is told what a caller of the gateway has decided. Without a decision nothing is said, and the agent's own
// dialog stands.
import { createHash } from "node:crypto";
import { connect } from "node:net";

// A gateway that is restarted is back within seconds.
const maxAwayMs = 10_000;
const retryMs = 200;
const maxAnswerLength = 256 * 1024;

/**
 * Waits for the decision on this line of the inbox, passes it on to the agent, and notes in the inbox that it did. Ends without a decision
 * when `signal` says that nobody waits for one any more.
 */
export async function askForDecision({ socketPath, line, note, pass, signal }) {
  const permissionId = createHash("sha256").update(line).digest("hex").slice(0, 32);
  let awaySince = Date.now();
  while (Date.now() - awaySince < maxAwayMs && !signal?.aborted) {
    const connectedAt = Date.now();
    const answer = await askOnce(socketPath, { permissionId, signal });
    if (answer !== null) return finish(answer, { permissionId, note, pass });
    // The time counts from when the gateway went, not from when it was first asked.
    if (Date.now() - connectedAt > retryMs) awaySince = Date.now();
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/** @returns the gateway's answer and the connection that it came on; null when the connection is lost before */
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
    socket.on("error", () => resolve(null)); // no gateway listens: tried again
    socket.on("close", () => resolve(null));
  });
}

function parse(text) {
  try {
    const answer = JSON.parse(text);
    return answer !== null && typeof answer === "object" ? answer : null;
  } catch {
    return null; // not a gateway's words
  }
}

async function finish({ decision, input, socket }, { permissionId, note, pass }) {
  if (!decision) return socket.destroy();
  try {
    await pass({ decision, input });
  } catch (error) {
    socket.destroy(); // it was not taken: the gateway waits for no word on it
    throw error;
  }
  // For a gateway that reads the inbox from its beginning: this one is no longer open.
  note(JSON.stringify({ at: Date.now(), permissionId, behavior: decision.behavior }));
  socket.end(`${JSON.stringify({ taken: true })}\n`);
}

/** `decision` is in the agent's own form. `input` is laid over the call's own, for what is allowed only with more than it had. */
export async function printDecision({ decision, input: more }, payload) {
  const updated = more ? { updatedInput: { ...JSON.parse(payload).tool_input, ...more } } : {};
  const hookSpecificOutput = { hookEventName: "PermissionRequest", decision: { ...decision, ...updated } };
  await new Promise((resolve, reject) => {
    process.stdout.on("error", reject);
    process.stdout.write(JSON.stringify({ hookSpecificOutput }), (error) => (error ? reject(error) : resolve()));
  });
}
