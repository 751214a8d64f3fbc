import type { AgentTemplate } from "../agents/index.ts";
import type { TerminalExit } from "../terminal-host/terminal-info.ts";
import type { OnDraft } from "../wire/coding.ts";
import type { TypedPrompt } from "./deliver.ts";
import type { OpenPrompt, PromptState } from "./prompt-queue.ts";
import { commandIn } from "./prompt-text.ts";
import { containsPrompt, samePrompt } from "./same-prompt.ts";

/** A prompt for a live session. `onDraft` is left out for one that waits until the composer is empty. */
export interface OutboxPrompt extends OpenPrompt {
  readonly onDraft?: OnDraft | undefined;
  /** Whether it can be sent behind this draft; left out: no. */
  readonly mayFollow?: ((draft: string) => Promise<boolean>) | undefined;
}

/** `received`: the agent reported that it took the prompt, and has not written it down yet. */
export type DeliveryState = PromptState | "received";

/** How far a prompt has come. */
export interface PromptProgress {
  readonly state: DeliveryState;
  /** Turns in the transcript before this prompt's; known once it was sent. */
  readonly turnsBefore: number;
  /** Whether the turn that it began has ended. */
  readonly turnOver: boolean;
}

/** A prompt that went out. */
export interface SentPrompt {
  readonly promptId: string;
  readonly text: string;
  /** What was in the composer before it, and was sent with it. */
  readonly draft?: string | undefined;
  /** On the command line, or typed into the terminal. */
  readonly by: "argv" | "typing";
  readonly turnsBefore: number;
  /** Epoch milliseconds. */
  readonly sentAt: number;
  /** How often Enter was pressed. */
  readonly enters: number;
  /** Whether the agent took a prompt since that is not known to be this one. */
  readonly otherTaken: boolean;
}

/** The prompts of one live session: each is sent at most once, one at a time, in order. */
export interface PromptsState {
  readonly progress: ReadonlyMap<string, PromptProgress>;
  /** Not sent yet, oldest first. */
  readonly waiting: readonly OutboxPrompt[];
  /** The prompt whose turn it is, from before it is typed until its Enter; `typing` from the first byte on. */
  readonly sending: { readonly prompt: OutboxPrompt; readonly typing: boolean } | null;
  /** Sent, and not confirmed. */
  readonly sent: SentPrompt | null;
  /** Taken by the agent's report, and not yet in its transcript. */
  readonly received: readonly (SentPrompt & { readonly receivedAt: number })[];
  /** Given up as unknown: the agent may take one of them yet. */
  readonly late: readonly SentPrompt[];
  /** The prompt whose turn runs. */
  readonly current: string | null;
  /** Whether the next prompt waits because the composer holds text that is not ours. */
  readonly behindDraft: boolean;
  /** How many tasks must not be typed into. */
  readonly holds: number;
}

/** A session without a prompt. */
export const noPrompts: PromptsState = {
  progress: new Map(),
  waiting: [],
  sending: null,
  sent: null,
  received: [],
  late: [],
  current: null,
  behindDraft: false,
  holds: 0,
};

/** What happened. */
export type PromptMessage =
  /** The store's prompts of this session: queued ones in order, and one that was sent and not confirmed. */
  | { readonly kind: "found"; readonly prompts: readonly OutboxPrompt[]; readonly sentBy: "argv" | "typing" }
  /** Its `onDraft` also counts for a prompt before it that waits for the draft to go. */
  | { readonly kind: "added"; readonly prompt: OutboxPrompt }
  /** The next prompt may go out now, if nothing else is under way. */
  | { readonly kind: "send_next" }
  /** The prompt is about to be typed, behind this draft. */
  | { readonly kind: "typing"; readonly promptId: string; readonly draft: string; readonly turnsBefore: number }
  /** Its session was closed, and the prompt given up, before it was typed. */
  | { readonly kind: "revoked"; readonly promptId: string }
  | { readonly kind: "typed"; readonly promptId: string; readonly result: TypedPrompt }
  /** A command that stayed in the composer was removed from it, or could not be. */
  | { readonly kind: "cleared"; readonly promptId: string; readonly cleared: boolean }
  /** All of it is typed, or nothing more will be. */
  | { readonly kind: "typing_ended"; readonly promptId: string }
  /** The next one may be sent. */
  | { readonly kind: "sending_ended"; readonly promptId: string }
  /** The agent took a prompt, by its hook (which runs before the agent writes the prompt down) or by its transcript. */
  | { readonly kind: "taken"; readonly text: string; readonly by: "hook" | "transcript" }
  /** The agent took a prompt that may be the one that waits for its confirmation. */
  | { readonly kind: "other_taken" }
  /** The transcript was searched for a received prompt; `final` when nothing more will be written. */
  | { readonly kind: "searched"; readonly promptId: string; readonly written: boolean; readonly final: boolean }
  | { readonly kind: "turn_over" }
  | { readonly kind: "tick"; readonly starting: boolean }
  /** What a look at the terminal says of the sent prompt. `held` is null where the composer cannot be read. */
  | { readonly kind: "looked"; readonly promptId: string; readonly maySend: false }
  | { readonly kind: "looked"; readonly promptId: string; readonly maySend: true; readonly held: boolean | null }
  /** Nothing confirmed it in time, and nothing more will be waited for. */
  | { readonly kind: "given_up"; readonly promptId: string; readonly state: GivenUp }
  /** Before a prompt is given up, hooks and transcript are asked once more. */
  | { readonly kind: "asked_again"; readonly promptId: string; readonly taken: boolean; readonly state: GivenUp }
  /** The process has ended, while it was `starting` or after its hooks had reported anything. */
  | {
      readonly kind: "ended";
      /** Null when its end was not seen. */
      readonly exit: TerminalExit | null;
      readonly starting: boolean;
      readonly hooksReport: boolean;
    }
  | { readonly kind: "held" | "released" };

type GivenUp = "lost" | "unknown";

/** What has to be done. Each is carried out once, in order. */
export type PromptEffect =
  | { readonly kind: "send"; readonly prompt: OutboxPrompt }
  /** Write down in the store. */
  | { readonly kind: "mark"; readonly promptId: string; readonly state: GivenUp | "delivered" }
  /** Write down that nothing of it was sent. */
  | { readonly kind: "put_back"; readonly promptId: string }
  | { readonly kind: "press_enter"; readonly sent: SentPrompt }
  | { readonly kind: "clear"; readonly promptId: string; readonly text: string }
  /** Look at the terminal; `overdue` says that the prompt is to be given up, and taken out of the composer if it is there. */
  | { readonly kind: "look"; readonly sent: SentPrompt; readonly overdue: boolean }
  | { readonly kind: "ask_again"; readonly sent: SentPrompt; readonly state: GivenUp };

/** What is known of the session when a message arrives. */
export interface PromptContext {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Whether the agent rests: the only time to type. */
  readonly maySend: boolean;
  /** Turns in the transcript while the agent was last idle. */
  readonly turnCount: number;
  readonly template: Pick<AgentTemplate, "hasHooks" | "transcriptFormat" | "commandPrefixes" | "commandWords">;
}

// Confirmed prompts take 0.1 to 0.9 s in both agents; Enter is repeated for a TUI that swallowed it.
const enterAgainMs = 3_000;
const maxEnters = 3;
const typedLostMs = 20_000;
const argvLostMs = 60_000;
// A transcript has a prompt within a second of its hook; one that is not there while the agent rests was refused by a hook of the user's.
const unwrittenMs = 20_000;
// Callers ask about their own, recent prompt.
const maxRemembered = 200;
// Of those that were given up, only one that the agent takes late is needed again.
const maxLate = 20;

interface Step {
  readonly state: PromptsState;
  readonly effects: readonly PromptEffect[];
}

/** The next state of a session's prompts, and what has to be done for it. Pure. */
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
      return tick(state, message, context);
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

/** Whether delivery can be confirmed: not for an agent that reports nothing, nor for one of the agent's commands. */
export function canConfirm(text: string, { template }: Pick<PromptContext, "template">): boolean {
  if (!template.hasHooks && template.transcriptFormat === null) return false;
  return commandIn(text, template) === null;
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
  return prompts.reduce<Step>((before, prompt) => {
    const { promptId, prompt: text } = prompt;
    const turnsBefore = context.turnCount;
    const next = noted(before.state, promptId, { state: prompt.state, turnsBefore, turnOver: false });
    if (prompt.state === "queued") {
      return { ...before, state: { ...next, waiting: [...next.waiting, prompt] } };
    }
    const step = awaitConfirmation(next, { promptId, text, by: sentBy, turnsBefore }, context);
    return { state: step.state, effects: [...before.effects, ...step.effects] };
  }, only(state));
}

function awaitConfirmation(
  state: PromptsState,
  prompt: Pick<SentPrompt, "promptId" | "text" | "draft" | "by" | "turnsBefore">,
  context: PromptContext,
): Step {
  if (!canConfirm(prompt.text, context)) return settle(state, { promptId: prompt.promptId, state: "unknown" }, context);
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
  if (!canConfirm(text, context)) return only(next);
  return awaitConfirmation(next, { promptId, text, draft, by: "typing", turnsBefore }, context);
}

function typed(
  before: PromptsState,
  { promptId, result }: Extract<PromptMessage, { kind: "typed" }>,
  context: PromptContext,
): Step {
  const { sending } = before;
  if (sending?.prompt.promptId !== promptId) return only(before);
  const isSent = before.sent?.promptId === promptId;
  // What was typed had to be seen first, which may have taken as long as a confirmation may.
  const sent = isSent && before.sent !== null ? { ...before.sent, sentAt: context.now } : before.sent;
  const state = { ...before, sent, behindDraft: result === "draft" };
  if (result === "not_typed") {
    // Nothing of it went out: it is the next one again.
    const back = { ...state, sent: isSent ? null : sent, sending: { ...sending, typing: false } };
    const waiting = [sending.prompt, ...back.waiting];
    const progress = { state: "queued", turnsBefore: context.turnCount, turnOver: false } as const;
    return { state: noted({ ...back, waiting }, promptId, progress), effects: [{ kind: "put_back", promptId }] };
  }
  if (result === "lost" && isSent && sent !== null) return giveUp(state, sent, "lost");
  const { prompt: text } = sending.prompt;
  // Of a prompt, its turn in the transcript has the last word.
  if ((result !== "lost" && result !== "held") || canConfirm(text, context)) return only(state);
  if (result === "lost") return settle(state, { promptId, state: "lost" }, context);
  // It stays in the composer, where the next one would be typed behind it.
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
  const isOpen = state.progress.get(promptId)?.state === "sent" && !canConfirm(sending.prompt.prompt, context);
  return isOpen ? settle(next, { promptId, state: "unknown" }, context) : only(next);
}

/** The prompt is ours when the text is the same, else one that was typed into the terminal, or ours in a form that we do not know. */
function taken(
  state: PromptsState,
  { text, by }: Pick<Extract<PromptMessage, { kind: "taken" }>, "text" | "by">,
  context: PromptContext,
): Step {
  const isIt = (prompt: SentPrompt): boolean => wasReported(prompt, text);
  const { sent } = state;
  const prompt = sent !== null && isIt(sent) ? sent : state.late.find(isIt);
  // One that is typed into the terminal while ours runs is part of our turn, or queued behind it by the agent itself.
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

/** An agent that is killed between its report and its write loses the prompt: only the transcript says `delivered`. */
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
  // The first turn of a process is that of its first prompt, in whatever form the agent reports it.
  return sent?.by === "argv" && sent.otherTaken ? giveUp(next, sent, "unknown") : only(next);
}

function tick(
  state: PromptsState,
  { starting }: Extract<PromptMessage, { kind: "tick" }>,
  { now }: PromptContext,
): Step {
  const { sent } = state;
  if (sent === null || state.sending !== null) return only(state);
  const age = now - sent.sentAt;
  if (sent.by === "argv") {
    // Its time begins when the agent has started.
    if (starting) return only({ ...state, sent: { ...sent, sentAt: now } });
    return age > argvLostMs ? giveUp(state, sent, "unknown") : only(state);
  }
  return age < enterAgainMs ? only(state) : { state, effects: [{ kind: "look", sent, overdue: age > typedLostMs }] };
}

function looked(state: PromptsState, look: Extract<PromptMessage, { kind: "looked" }>, { now }: PromptContext): Step {
  const { sent } = state;
  if (sent?.promptId !== look.promptId) return only(state);
  // While a turn runs or a dialog is open its time stands still: neither Enter nor the next prompt may go out.
  if (!look.maySend) return only({ ...state, sent: { ...sent, sentAt: now - enterAgainMs } });
  if (look.held === true && sent.enters < maxEnters && now - sent.sentAt > enterAgainMs * sent.enters) {
    return {
      state: { ...state, sent: { ...sent, enters: sent.enters + 1 } },
      effects: [{ kind: "press_enter", sent }],
    };
  }
  return look.held === false && sent.otherTaken ? giveUp(state, sent, "unknown") : only(state);
}

/** An agent takes a prompt only after its hook has reported it; without hooks, not before it has started. */
function fateAtEnd(
  { otherTaken }: SentPrompt,
  { exit, starting, hooksReport }: Extract<PromptMessage, { kind: "ended" }>,
  { template }: PromptContext,
): GivenUp {
  const neverTook = !otherTaken && (starting || (template.hasHooks && hooksReport));
  return neverTook && endedItself(exit) ? "lost" : "unknown";
}

/**
 * Whether no signal ended the agent. A signal to its process group, as when its terminal host is killed, ends a hook before it reports;
 * an agent may write the prompt down before it ends too (measured).
 */
function endedItself(exit: TerminalExit | null): boolean {
  return exit !== null && exit.signal === null && exit.exitCode <= 128;
}

/** Nothing is given up before hooks and transcript were asked once more: a gateway that was asleep reads them late. */
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

/** With a draft before it, the agent reports both as one. */
function wasReported({ text, draft }: SentPrompt, reported: string): boolean {
  return samePrompt(text, reported) || (Boolean(draft) && containsPrompt(text, reported));
}
