// The plugin that OpenCode gets from Postern at its launch. It tells a session's inbox what happens, as the hooks of other agents do, and
// passes decisions on permissions on. It says nothing and never fails the agent.
import { appendLine, cut } from "../hook-inbox.mjs";
import { askForDecision } from "../hook-permission.mjs";

// Sub-agents of a session that ran for days.
const maxRemembered = 1_000;

/** OpenCode calls every function that a plugin exports. */
export const Postern = async ({ client, directory }) => {
  const inbox = process.env.POSTERN_SESSION_INBOX;
  const socketPath = process.env.POSTERN_SESSION_PERMISSIONS;
  // Another OpenCode that this one runs as a command has its environment, and is no session of this terminal.
  process.env.POSTERN_OPENCODE_PID ??= String(process.pid);
  if (!inbox || process.env.POSTERN_OPENCODE_PID !== String(process.pid)) return {};
  /** Whose sub-agent a session is; null for one of its own. */
  const parents = new Map();
  /** What is asked and not yet answered, by the request's id. */
  const asked = new Map();
  /** The session that the person sees, as far as prompts tell: who goes over to another one before the first leaves the resumed one. */
  let current = process.env.POSTERN_OPENCODE_RESUMED ?? null;
  let isRunning = false;
  let isIdle = true;
  /** The answer that is not complete yet; of one that is cut off the end is told twice, and the first time before that. */
  let openMessage = null;
  let failure = null;
  let queue = Promise.resolve();

  function tell(event, fields) {
    const payload = { session_id: current, hook_event_name: event, cwd: directory, ...fields };
    const nonce = event === "PermissionRequest" ? crypto.randomUUID() : undefined;
    const line = JSON.stringify({ at: Date.now(), payload, nonce }, cut);
    return appendLine(inbox, line, event) ? line : null;
  }

  async function rootOf(sessionId) {
    let id = sessionId;
    // A sub-agent may have some of its own.
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
      if (current !== null) tell("SessionEnd", { reason: "clear" });
      current = sessionId;
      tell("SessionStart", { source: "startup" });
    }
    const typed = parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored);
    // What the agent says for the user, such as "go on" after a summary, is no prompt.
    if (typed.length === 0) return;
    isRunning = true;
    isIdle = false;
    openMessage = null;
    failure = null;
    tell("UserPromptSubmit", { prompt: typed.map(({ text }) => text).join("\n") });
  }

  function tellEnd() {
    if (!isRunning || !isIdle || openMessage !== null) return;
    isRunning = false;
    if (failure === null) tell("Stop", {});
    else tell("StopFailure", { error: failure.name, last_assistant_message: failure.message });
  }

  async function ask(request, call, answer) {
    const root = await rootOf(request.sessionID);
    if (root !== current) return;
    const fields = { ...call, ...(root === request.sessionID ? {} : { agent_id: request.sessionID }) };
    const line = tell("PermissionRequest", fields);
    const controller = new AbortController();
    const open = { fields, controller, isOurs: false };
    asked.set(request.id, open);
    if (line === null || !socketPath) return;
    const note = (settled) => appendLine(inbox, settled, "PermissionRequest");
    const pass = (decision) => {
      open.isOurs = true;
      return answer(decision);
    };
    // Meanwhile the dialog stands in the terminal.
    askForDecision({ socketPath, line, note, pass, signal: controller.signal }).catch(() => undefined);
  }

  function answered({ requestID }) {
    const request = asked.get(requestID);
    if (request === undefined) return;
    asked.delete(requestID);
    // Of an answer that came from the gateway, it is yet to be told that it was taken.
    if (!request.isOurs) request.controller.abort();
    tell("PostToolUse", request.fields);
  }

  // The client of plugins has no name for these.
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
      tellEnd();
    },
    "message.updated": ({ info }) => {
      if (info.sessionID !== current || info.role !== "assistant") return;
      if (info.time.completed === undefined) openMessage = info.id;
      else if (openMessage === info.id) openMessage = null;
      tellEnd();
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

  /** One after another, so that what is told is told in order. */
  function soon(act) {
    queue = queue.then(act).catch(() => undefined); // an agent goes on without Postern
    return queue;
  }

  return {
    event: async ({ event }) => {
      const handle = handlers[event.type];
      if (handle) void soon(() => handle(event.properties));
    },
    "chat.message": async ({ sessionID }, { parts }) => {
      for (const part of parts) {
        // What follows a prompt that Postern types, so that Enter does not pick from a list.
        if (part.type === "text" && part.text.endsWith(" ")) part.text = part.text.slice(0, -1);
      }
      void soon(() => prompt(sessionID, [...parts]));
    },
  };
};
