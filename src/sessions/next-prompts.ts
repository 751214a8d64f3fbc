import type { TerminalExit } from "../terminal-host/terminal-info.ts";
import { commandIn } from "./prompt-text.ts";
import type {
  GivenUp,
  OutboxPrompt,
  PromptContext,
  PromptEffect,
  PromptMessage,
  PromptProgress,
  PromptsState,
  SentPrompt,
  TypedPrompt,
} from "./prompts.ts";
import { containsPrompt, samePrompt } from "./prompts.ts";
import { queueChanged } from "./queue-changes.ts";

// Claude Code and Codex confirm a prompt within 0.1 to 0.9 s. After this time, Enter is pressed again, in case the TUI dropped it.
const enterAgainMs = 3_000;
const maxEnters = 3;
const typedLostMs = 20_000;
const argvLostMs = 60_000;
// A prompt is in the transcript within a second of its hook. If it is missing while the agent is idle, one of the user's hooks blocked it.
const unwrittenMs = 20_000;
// Callers ask about their own, recent prompt.
const maxRemembered = 200;
// Prompts that were given up are kept only in case the agent accepts one late.
const maxLate = 20;

interface Step {
  readonly state: PromptsState;
  readonly effects: readonly PromptEffect[];
}

/** The next state of a session's prompts, and the effects that follow. Pure. */
export function nextPrompts(state: PromptsState, message: PromptMessage, context: PromptContext): Step {
  switch (message.kind) {
    case "found":
      return found(state, message, context);
    case "added": {
      const { onDraft } = message.prompt;
      const waiting = onDraft === undefined ? state.waiting : state.waiting.map((other) => ({ onDraft, ...other }));
      return then(
        found({ ...state, waiting }, { prompts: [message.prompt], sentBy: "typing" }, context),
        sendNext,
        context,
      );
    }
    case "send_next":
      return sendNext(state, context);
    case "revoked":
      return only({ ...state, waiting: without(state.waiting, message.promptId) });
    case "edited":
    case "moved":
    case "cancelled":
      return only(queueChanged(state, message));
    case "typing":
      return typing(state, message, context);
    case "typed":
      return typed(state, message, context);
    case "cleared":
      return settle(state, { promptId: message.promptId, state: message.cleared ? "lost" : "unknown" }, context);
    case "typing_ended":
      return typingEnded(state, message, context);
    case "sending_ended":
      return only(state.sending?.prompt.promptId === message.promptId ? { ...state, sending: null } : state);
    case "taken":
      return taken(state, message, context);
    case "other_taken":
      return only(state.sent === null ? state : { ...state, sent: { ...state.sent, otherTaken: true } });
    case "searched":
      return searched(state, message, context);
    case "turn_over":
      return turnOver(state);
    case "tick":
      return tick(state, context);
    case "looked":
      return looked(state, message, context);
    case "given_up":
      return state.sent?.promptId === message.promptId ? giveUp(state, state.sent, message.state) : only(state);
    case "asked_again":
      return askedAgain(state, message, context);
    case "ended":
      return state.sent === null ? only(state) : giveUp(state, state.sent, fateAtEnd(state.sent, message, context));
    case "held":
      return only({ ...state, holds: state.holds + 1 });
    case "released":
      return sendNext({ ...state, holds: state.holds - 1 }, context);
  }
}

/** Whether delivery can be confirmed: not for an agent that reports nothing, nor for one of the agent's commands, unless it starts a turn. */
export function canConfirm(
  { prompt: text, startsTurn = false }: Pick<OutboxPrompt, "prompt" | "startsTurn">,
  { template }: Pick<PromptContext, "template">,
): boolean {
  if (!template.hasHooks && template.transcriptFormat === null) return false;
  return startsTurn || commandIn(text, template) === null;
}

function only(state: PromptsState): Step {
  return { state, effects: [] };
}

function then(first: Step, next: (state: PromptsState, context: PromptContext) => Step, context: PromptContext): Step {
  const second = next(first.state, context);
  return { state: second.state, effects: [...first.effects, ...second.effects] };
}

function without<T extends { readonly promptId: string }>(prompts: readonly T[], promptId: string): readonly T[] {
  return prompts.filter((other) => other.promptId !== promptId);
}

function noted(state: PromptsState, promptId: string, newest: PromptProgress): PromptsState {
  const progress = new Map(state.progress).set(promptId, newest);
  for (const oldest of progress.keys()) {
    if (progress.size <= maxRemembered) break;
    progress.delete(oldest);
  }
  return { ...state, progress };
}

function found(
  state: PromptsState,
  { prompts, sentBy }: Pick<Extract<PromptMessage, { kind: "found" }>, "prompts" | "sentBy">,
  context: PromptContext,
): Step {
  const read = { ...state, isRead: true };
  return prompts.reduce<Step>((before, prompt) => {
    const { promptId, prompt: text } = prompt;
    const turnsBefore = context.turnCount;
    const next = noted(before.state, promptId, { state: prompt.state, turnsBefore, turnOver: false });
    if (prompt.state === "queued") {
      return { ...before, state: { ...next, waiting: [...next.waiting, prompt] } };
    }
    const step = canConfirm(prompt, context)
      ? awaitConfirmation(next, { promptId, text, by: sentBy, turnsBefore }, context)
      : settle(next, { promptId, state: "unknown" }, context);
    return { state: step.state, effects: [...before.effects, ...step.effects] };
  }, only(read));
}

function awaitConfirmation(
  state: PromptsState,
  prompt: Pick<SentPrompt, "promptId" | "text" | "draft" | "by" | "turnsBefore">,
  context: PromptContext,
): Step {
  return only({ ...state, sent: { ...prompt, sentAt: context.now, enters: 1, otherTaken: false } });
}

function sendNext(state: PromptsState, { maySend }: PromptContext): Step {
  const [prompt] = state.waiting;
  const isFree = state.sending === null && state.sent === null && state.holds === 0;
  if (prompt === undefined || !isFree || !maySend) return only(state);
  return { state: { ...state, sending: { prompt, typing: false } }, effects: [{ kind: "send", prompt }] };
}

function typing(
  state: PromptsState,
  { promptId, draft, turnsBefore }: Extract<PromptMessage, { kind: "typing" }>,
  context: PromptContext,
): Step {
  const { sending } = state;
  if (sending?.prompt.promptId !== promptId) return only(state);
  const { prompt: text } = sending.prompt;
  const next = noted(
    { ...state, waiting: without(state.waiting, promptId), sending: { ...sending, typing: true } },
    promptId,
    { state: "sent", turnsBefore, turnOver: false },
  );
  if (!canConfirm(sending.prompt, context)) return only(next);
  return awaitConfirmation(next, { promptId, text, draft, by: "typing", turnsBefore }, context);
}

const notTyped: ReadonlySet<TypedPrompt> = new Set(["not_ready", "draft", "not_typed", "given_up"]);

function typed(
  before: PromptsState,
  { promptId, result }: Extract<PromptMessage, { kind: "typed" }>,
  context: PromptContext,
): Step {
  const { sending } = before;
  if (sending?.prompt.promptId !== promptId) return only(before);
  const isSent = before.sent?.promptId === promptId;
  // Waiting for the typed text to appear may have used up the time for the confirmation.
  const sent = isSent && before.sent !== null ? { ...before.sent, sentAt: context.now } : before.sent;
  const returned = notTyped.has(result) ? promptId : null;
  const state = { ...before, sent, behindDraft: result === "draft", returned };
  if (result === "not_typed") {
    // Nothing of the prompt was typed: it is next in the queue again.
    const back = { ...state, sent: isSent ? null : sent, sending: { ...sending, typing: false } };
    const waiting = [sending.prompt, ...back.waiting];
    const progress = { state: "queued", turnsBefore: context.turnCount, turnOver: false } as const;
    return { state: noted({ ...back, waiting }, promptId, progress), effects: [{ kind: "put_back", promptId }] };
  }
  if (result === "lost" && isSent && sent !== null) return giveUp(state, sent, "lost");
  const { prompt: text } = sending.prompt;
  // Whether the prompt's turn appears in the transcript determines its fate.
  if ((result !== "lost" && result !== "held") || canConfirm(sending.prompt, context)) return only(state);
  if (result === "lost") return settle(state, { promptId, state: "lost" }, context);
  // It is still in the composer, and the next prompt would be typed after it.
  return { state, effects: [{ kind: "clear", promptId, text }] };
}

/** A command is never confirmed. */
function typingEnded(
  state: PromptsState,
  { promptId }: Extract<PromptMessage, { kind: "typing_ended" }>,
  context: PromptContext,
): Step {
  const { sending } = state;
  if (sending?.prompt.promptId !== promptId || !sending.typing) return only(state);
  const next = { ...state, sending: { ...sending, typing: false } };
  const isOpen = state.progress.get(promptId)?.state === "sent" && !canConfirm(sending.prompt, context);
  return isOpen ? settle(next, { promptId, state: "unknown" }, context) : only(next);
}

/** If the text is the same, the prompt is ours; otherwise it was typed into the terminal, or is ours in a form that we do not recognize. */
function taken(
  state: PromptsState,
  { text, by }: Pick<Extract<PromptMessage, { kind: "taken" }>, "text" | "by">,
  context: PromptContext,
): Step {
  const isIt = (prompt: SentPrompt): boolean => wasReported(prompt, text);
  const { sent } = state;
  const prompt = sent !== null && isIt(sent) ? sent : state.late.find(isIt);
  // A prompt that is typed into the terminal while ours runs is part of our turn, or the agent queues it after our turn.
  if (prompt === undefined) return only(sent === null ? state : { ...state, sent: { ...sent, otherTaken: true } });
  const over = turnOver({ ...state, sent: prompt === sent ? null : sent });
  const { promptId, turnsBefore } = prompt;
  const next = { ...over.state, late: without(over.state.late, promptId), current: promptId };
  if (by === "transcript" || context.template.transcriptFormat === null) {
    const settled = settle(next, { promptId, state: "delivered" }, context);
    return { state: settled.state, effects: [...over.effects, ...settled.effects] };
  }
  const received = [...next.received, { ...prompt, receivedAt: context.now }].slice(-maxRemembered);
  return {
    state: noted({ ...next, received }, promptId, { state: "received", turnsBefore, turnOver: false }),
    effects: over.effects,
  };
}

/** An agent that is killed between its report and its write loses the prompt, so only the transcript proves `delivered`. */
function searched(
  state: PromptsState,
  { promptId, written, final }: Extract<PromptMessage, { kind: "searched" }>,
  context: PromptContext,
): Step {
  const prompt = state.received.find((other) => other.promptId === promptId);
  if (prompt === undefined) return only(state);
  const mayCome = context.now - prompt.receivedAt < unwrittenMs || !context.maySend;
  if (!written && !final && mayCome) return only(state);
  const isOver = !written || (state.progress.get(promptId)?.turnOver ?? false);
  const next = { ...state, received: without(state.received, promptId) };
  return settle(next, { promptId, state: written ? "delivered" : "unknown", turnOver: isOver }, context);
}

function turnOver(state: PromptsState): Step {
  const { current, sent } = state;
  const progress = current === null ? undefined : state.progress.get(current);
  const marked =
    current === null || progress === undefined ? state : noted(state, current, { ...progress, turnOver: true });
  const next = { ...marked, current: null };
  // The first turn of a process belongs to its first prompt, in any form that the agent reports.
  return sent?.by === "argv" && sent.otherTaken ? giveUp(next, sent, "unknown") : only(next);
}

function tick(state: PromptsState, { now, starting }: PromptContext): Step {
  const { sent } = state;
  if (sent === null || state.sending !== null) return only(state);
  const age = now - sent.sentAt;
  if (sent.by === "argv") {
    // The time to confirm it starts when the agent has started.
    if (starting) return only({ ...state, sent: { ...sent, sentAt: now } });
    return age > argvLostMs ? giveUp(state, sent, "unknown") : only(state);
  }
  return age < enterAgainMs ? only(state) : { state, effects: [{ kind: "look", sent, overdue: age > typedLostMs }] };
}

function looked(state: PromptsState, look: Extract<PromptMessage, { kind: "looked" }>, { now }: PromptContext): Step {
  const { sent } = state;
  if (sent?.promptId !== look.promptId) return only(state);
  // Its timer is paused while a turn runs or a dialog is open: neither Enter nor the next prompt may be sent.
  if (!look.maySend) return only({ ...state, sent: { ...sent, sentAt: now - enterAgainMs } });
  if (look.held === true && sent.enters < maxEnters && now - sent.sentAt > enterAgainMs * sent.enters) {
    return {
      state: { ...state, sent: { ...sent, enters: sent.enters + 1 } },
      effects: [{ kind: "press_enter", sent }],
    };
  }
  return look.held === false && sent.otherTaken ? giveUp(state, sent, "unknown") : only(state);
}

/** An agent accepts a prompt only after its hook has reported it; without hooks, only after it has started. */
function fateAtEnd(
  { otherTaken }: SentPrompt,
  { exit }: Extract<PromptMessage, { kind: "ended" }>,
  { template, starting, hooksReport }: PromptContext,
): GivenUp {
  const neverTook = !otherTaken && (starting || (template.hasHooks && hooksReport));
  return neverTook && endedItself(exit) ? "lost" : "unknown";
}

/**
 * Whether no signal ended the agent. A signal to its process group, as when its terminal host is killed, ends a hook before it reports;
 * the agent may still write the prompt to its transcript before it ends (measured).
 */
function endedItself(exit: TerminalExit | null): boolean {
  return exit !== null && exit.signal === null && exit.exitCode <= 128;
}

/** No prompt is given up before hooks and transcript are read once more, because a gateway that was suspended reads them late. */
function giveUp(state: PromptsState, sent: SentPrompt, fate: GivenUp): Step {
  return { state, effects: [{ kind: "ask_again", sent, state: fate }] };
}

function askedAgain(
  state: PromptsState,
  message: Extract<PromptMessage, { kind: "asked_again" }>,
  context: PromptContext,
): Step {
  const { sent } = state;
  if (sent?.promptId !== message.promptId) return only(state);
  if (message.taken) return taken(state, { text: sent.text, by: "transcript" }, context);
  const late = message.state === "unknown" ? [...state.late, sent].slice(-maxLate) : state.late;
  const given = { promptId: sent.promptId, state: message.state };
  return then(settle({ ...state, sent: null, late }, given, context), sendNext, context);
}

function settle(
  state: PromptsState,
  fate: { readonly promptId: string; readonly state: GivenUp | "delivered"; readonly turnOver?: boolean },
  { turnCount }: PromptContext,
): Step {
  const { promptId, state: fateState, turnOver: isOver = fateState !== "delivered" } = fate;
  const turnsBefore = state.progress.get(promptId)?.turnsBefore ?? turnCount;
  return {
    state: noted(state, promptId, { state: fateState, turnsBefore, turnOver: isOver }),
    effects: [{ kind: "mark", promptId, state: fateState }],
  };
}

/** If a draft came before it, the agent reports both as one prompt. */
function wasReported({ text, draft }: SentPrompt, reported: string): boolean {
  return samePrompt(text, reported) || (Boolean(draft) && containsPrompt(text, reported));
}
