// Turns: asks the model, calls the tools that it wants, asks for permission before.
import { callModel } from "./model.mjs";
import { isAsked, runTool } from "./tools.mjs";

export function createConversation({ session, screen, options }) {
  let messages = options.resumes ? session.messages() : [];
  for (const { role, content } of messages) {
    const texts = typeof content === "string" ? [content] : content.flatMap(({ text }) => text ?? []);
    for (const text of texts) screen.print(`${role === "user" ? ">" : "●"} ${text}`);
  }
  const queue = [];
  /** The running turn's. */
  let controller = null;

  async function prompt(text) {
    if (controller !== null) return void queue.push(text);
    controller = new AbortController();
    session.silence(/^agent silent\b/m.test(text));
    try {
      session.status("busy");
      screen.hint("esc to interrupt");
      session.report("UserPromptSubmit", { prompt: text });
      say("user", text);
      screen.print(`> ${text}`);
      await perform(text);
      await answer(controller.signal);
      session.report("Stop", { stop_hook_active: false });
    } catch (error) {
      if (controller.signal.aborted) interrupted();
      else failed(error);
    }
    controller = null;
    session.silence(false);
    session.status("idle");
    screen.hint("");
    const next = queue.shift();
    if (next !== undefined) void prompt(next);
  }

  function say(role, content, more) {
    const message = { role, content };
    messages.push(message);
    session.write(role === "user" ? "user" : "assistant", { ...message, ...more });
  }

  function interrupted() {
    say("user", [{ type: "text", text: "[Request interrupted by user]" }]);
    screen.print("Interrupted");
  }

  function failed(error) {
    const text = error.status === undefined ? String(error.message) : `API Error: ${error.status} ${error.message}`;
    const code =
      { 401: "authentication_failed", 402: "billing_error", 429: "rate_limit" }[error.status] ?? "server_error";
    const message = { role: "assistant", model: "<synthetic>", content: [{ type: "text", text }] };
    session.write("assistant", message, { isApiErrorMessage: true, error: code });
    screen.print(text);
    session.report("StopFailure", { error: code, last_assistant_message: text });
  }

  /** What the prompt makes the agent itself do. */
  async function perform(text) {
    for (const [, word, rest] of text.matchAll(/^agent (crash|flood|hang|lie)\b *(.*)$/gm)) {
      if (word === "crash") process.exit(Number(rest || 1));
      if (word === "flood")
        screen.print(
          "flood "
            .repeat(20)
            .concat("\n")
            .repeat(Math.ceil(Number(rest) / 121)),
        );
      if (word === "hang") await new Promise(() => undefined);
      if (word === "lie") {
        const { event, ...fields } = JSON.parse(rest);
        session.report(event, fields, fields.session_id ? { sessionId: fields.session_id } : {});
      }
    }
  }

  async function answer(signal) {
    for (;;) {
      const { content, stopReason, usage, id } = await callModel({ ...options, messages, signal, print: screen.print });
      say("assistant", content, { id, model: options.model, stop_reason: stopReason, usage });
      const calls = content.filter(({ type }) => type === "tool_use");
      if (calls.length === 0) return;
      for (const call of calls) await use(call, signal);
    }
  }

  async function use({ id, name, input }, signal) {
    const allowed = isAsked(name, options.mode) ? await ask(name, input, signal) : { input };
    screen.print(`● ${name}`);
    const { ok, text } = allowed.denied
      ? { ok: false, text: allowed.denied }
      : await runTool(name, allowed.input, signal);
    if (!allowed.denied) {
      const event = ok ? "PostToolUse" : "PostToolUseFailure";
      session.report(event, { tool_name: name, tool_input: allowed.input, tool_use_id: id });
    }
    say("user", [{ type: "tool_result", tool_use_id: id, content: text, ...(ok ? {} : { is_error: true }) }]);
    signal.throwIfAborted();
  }

  /** The first answer counts, from the dialog or from the gateway. */
  async function ask(name, input, signal) {
    const asksUser = name === "AskUserQuestion";
    session.status("waiting", asksUser ? "input needed" : "permission prompt");
    const line = session.report("PermissionRequest", { tool_name: name, tool_input: input });
    // Asks the person through the dialog, and the gateway's callers, whose connection must stay open until the answer is noted.
    const [dialog, callers] = [new AbortController(), new AbortController()];
    let decided = null;
    const pass = (answer) => {
      decided = answer;
      dialog.abort();
    };
    signal.addEventListener("abort", () => dialog.abort(), { once: true });
    void session.untilDecided(line, { pass, signal: callers.signal }).catch(() => undefined);
    const question = asksUser ? input.questions?.[0] : null;
    const choices = question?.options?.map(({ label }) => label) ?? ["Yes", "No"];
    const chosen = await screen.choose({ text: dialogText(name, input), choices, signal: dialog.signal });
    if (decided === null) callers.abort();
    session.status("busy");
    if (decided !== null) {
      const { decision, input: more } = decided;
      return decision.behavior === "allow" ? { input: { ...input, ...more } } : { denied: decision.message };
    }
    if (signal.aborted) throw signal.reason;
    if (question !== null && chosen !== null)
      return { input: { ...input, answers: { [question.question]: choices[chosen] } } };
    if (question === null && chosen === 0) return { input };
    // A person who denies ends the turn.
    controller.abort();
    return { denied: "The user does not want this." };
  }

  return {
    prompt,
    interrupt: () => controller?.abort(),
    forget: () => (messages = []),
  };
}

function dialogText(name, input) {
  if (name === "AskUserQuestion") return `\n ${input.questions?.[0]?.question ?? ""}\n`;
  const shown = input.command ?? input.file_path ?? JSON.stringify(input);
  return ` ${name}\n\n   ${shown.split("\n").join("\n   ")}\n\n Do you want to go on?`;
}
