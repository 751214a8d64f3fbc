// The plugin that Postern passes to OpenCode at its launch. It reports events to the session's inbox, as other agents' hooks do, and passes
// on decisions on permissions. It prints nothing and never makes the agent fail.
import { appendLine, cut } from "../hook-inbox.mjs";
import { askForDecision } from "../hook-permission.mjs";

// More sub-agents than a session has that runs for days.
const maxRemembered = 1_000;

/** OpenCode calls every function that a plugin exports. */
export const Postern = async ({ client, directory }) => {
  const inbox = process.env.POSTERN_SESSION_INBOX;
  const socketPath = process.env.POSTERN_SESSION_PERMISSIONS;
  // Another OpenCode that this one runs as a command inherits its environment, but is not this terminal's session.
  process.env.POSTERN_OPENCODE_PID ??= String(process.pid);
  if (!inbox || process.env.POSTERN_OPENCODE_PID !== String(process.pid)) return {};
  /** The parent of a sub-agent's session; null for others. */
  const parents = new Map();
  /** Open requests, by id. */
  const asked = new Map();
  /** The session on the screen, as far as prompts reveal it: the first prompt in another session ends the resumed session. */
  let current = process.env.POSTERN_OPENCODE_RESUMED ?? null;
  let isRunning = false;
  let isIdle = true;
  /** The unfinished answer. The end of an aborted turn is reported twice, the first time while its answer is still open. */
  let openMessage = null;
  let failure = null;
  let queue = Promise.resolve();

  function report(event, fields) {
    const payload = { session_id: current, hook_event_name: event, cwd: directory, ...fields };
    const nonce = event === "PermissionRequest" ? crypto.randomUUID() : undefined;
    const line = JSON.stringify({ at: Date.now(), payload, nonce }, cut);
    return appendLine(inbox, line, event) ? line : null;
  }

  async function rootOf(sessionId) {
    let id = sessionId;
    // Sub-agents can have sub-agents.
    for (let depth = 0; depth < 10; depth += 1) {
      if (!parents.has(id)) {
        const { data } = await client.session.get({ path: { id } });
        remember(id, data?.parentID ?? null);
      }
      const parent = parents.get(id);
      if (!parent) return id;
      id = parent;
    }
    return id;
  }

  function remember(id, parent) {
    if (parents.size >= maxRemembered) parents.clear();
    parents.set(id, parent);
  }

  async function prompt(sessionId, parts) {
    if ((await rootOf(sessionId)) !== sessionId) return;
    if (current !== sessionId) {
      if (current !== null) report("SessionEnd", { reason: "clear" });
      current = sessionId;
      report("SessionStart", { source: "startup" });
    }
    const typed = parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored);
    // What the agent writes as the user, such as "go on" after a summary, is not a prompt.
    if (typed.length === 0) return;
    isRunning = true;
    isIdle = false;
    openMessage = null;
    failure = null;
    report("UserPromptSubmit", { prompt: typed.map(({ text }) => text).join("\n") });
  }

  function reportEnd() {
    if (!isRunning || !isIdle || openMessage !== null) return;
    isRunning = false;
    if (failure === null) report("Stop", {});
    else report("StopFailure", { error: failure.name, last_assistant_message: failure.message });
  }

  async function ask(request, call, answer) {
    const root = await rootOf(request.sessionID);
    if (root !== current) return;
    const fields = { ...call, ...(root === request.sessionID ? {} : { agent_id: request.sessionID }) };
    const line = report("PermissionRequest", fields);
    const controller = new AbortController();
    const open = { fields, controller, isOurs: false };
    asked.set(request.id, open);
    if (line === null || !socketPath) return;
    const note = (settled) => appendLine(inbox, settled, "PermissionRequest");
    const pass = (decision) => {
      open.isOurs = true;
      return answer(decision);
    };
    // Meanwhile the dialog is open in the terminal.
    askForDecision({ socketPath, line, note, pass, signal: controller.signal }).catch(() => undefined);
  }

  function answered({ requestID }) {
    const request = asked.get(requestID);
    if (request === undefined) return;
    asked.delete(requestID);
    // If the answer came from the gateway, it still has to be confirmed.
    if (!request.isOurs) request.controller.abort();
    report("PostToolUse", request.fields);
  }

  // The plugin client has no methods for these.
  const { _client: calls } = client;
  async function post(url, body) {
    const { error } = await calls.post({ url, body, headers: { "Content-Type": "application/json" } });
    if (error !== undefined) throw new Error("OpenCode took no answer", { cause: error });
  }

  const handlers = {
    "session.created": ({ info }) => remember(info.id, info.parentID ?? null),
    "session.status": ({ sessionID, status }) => {
      if (sessionID !== current) return;
      isIdle = status.type === "idle";
      reportEnd();
    },
    "message.updated": ({ info }) => {
      if (info.sessionID !== current || info.role !== "assistant") return;
      if (info.time.completed === undefined) openMessage = info.id;
      else if (openMessage === info.id) openMessage = null;
      reportEnd();
    },
    "session.error": ({ sessionID, error }) => {
      if (sessionID !== current || error?.name === "MessageAbortedError") return;
      failure = { name: error?.name ?? "", message: error?.data?.message ?? "" };
    },
    "permission.asked": (request) =>
      ask(
        request,
        { tool_name: request.permission, tool_input: { ...request.metadata, patterns: request.patterns } },
        ({ decision: { behavior, message } }) =>
          post(
            `/permission/${request.id}/reply`,
            behavior === "allow" ? { reply: "once" } : { reply: "reject", message },
          ),
      ),
    "permission.replied": answered,
    "question.asked": (request) =>
      ask(
        request,
        {
          tool_name: "question",
          tool_input: {
            questions: request.questions.map(({ multiple, ...question }) => ({
              ...question,
              multiSelect: multiple === true,
            })),
          },
        },
        ({ decision: { behavior }, input }) =>
          behavior === "allow"
            ? post(`/question/${request.id}/reply`, {
                answers: request.questions.map(({ question }) => [input?.answers?.[question]].filter(Boolean)),
              })
            : post(`/question/${request.id}/reject`, {}),
      ),
    "question.replied": answered,
    "question.rejected": answered,
  };

  /** Runs the functions one after another, to keep their order. */
  function soon(act) {
    queue = queue.then(act).catch(() => undefined); // the agent continues without Postern
    return queue;
  }

  return {
    event: async ({ event }) => {
      const handle = handlers[event.type];
      if (handle) void soon(() => handle(event.properties));
    },
    "chat.message": async ({ sessionID }, { parts }) => {
      for (const part of parts) {
        // Postern types a space after a prompt, so that Enter does not pick from a list.
        if (part.type === "text" && part.text.endsWith(" ")) part.text = part.text.slice(0, -1);
      }
      void soon(() => prompt(sessionID, [...parts]));
    },
  };
};
