import type { Clock } from "../core/clock.ts";
import type { TerminalExit, TerminalHostClient } from "../terminal-host/terminal-info.ts";
import { type TypedPrompt, typePrompt } from "./deliver.ts";
import type { OutboxPrompt, OutboxTerminal, OutboxView, PromptProgress, SentPrompt } from "./outbox-view.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import { commandIn } from "./prompt-text.ts";
import { containsPrompt, samePrompt } from "./same-prompt.ts";
import { clearComposer, composerHolds } from "./submit.ts";

// Confirmed prompts take 0.1 to 0.9 s in both agents; Enter is repeated for a TUI that swallowed it.
const enterAgainMs = 3_000;
// What is never confirmed, such as /clear, gets this long before the next prompt.
const commandSettleMs = 1_500;
const typedLostMs = 20_000;
const argvLostMs = 60_000;
// A transcript has a prompt within a second of its hook; one that is not there while the agent rests was refused by a hook of the user's.
const unwrittenMs = 20_000;
// Callers ask about their own, recent prompt.
const maxRemembered = 200;
// Of those that were given up, only one that the agent takes late is needed again.
const maxLate = 20;

/** What an outbox works with. */
export interface OutboxDeps {
  readonly host: Pick<TerminalHostClient, "look" | "write">;
  readonly clock: Clock;
  readonly queue: Pick<PromptQueue, "mark" | "putBack">;
}

/** Takes prompts to one live agent, one at a time, in order, each at most once. */
export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #terminal: OutboxTerminal;
  readonly #view: OutboxView;
  readonly #progress = new Map<string, PromptProgress>();
  #waiting: readonly OutboxPrompt[] = [];
  #sent: SentPrompt | null = null;
  /** Taken by the agent's word, and not yet in its transcript. */
  #received: readonly (SentPrompt & { readonly receivedAt: number })[] = [];
  /** Given up as unknown: the agent may take one of them yet. */
  #late: readonly SentPrompt[] = [];
  /** The prompt that is being typed. */
  #typing: string | null = null;
  /** The prompt whose turn runs. */
  #current: string | null = null;
  #busy = false;
  /** Whether the next prompt waits because the composer holds text that is not ours. */
  #draft = false;
  /** How many tasks must not be typed into. */
  #holds = 0;

  constructor(deps: OutboxDeps, terminal: OutboxTerminal, view: OutboxView) {
    this.#deps = deps;
    this.#terminal = terminal;
    this.#view = view;
  }

  /** Prompts that were not sent yet. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Whether the next prompt waits because the composer holds text that is not ours. */
  get draft(): boolean {
    return this.#draft && this.#waiting.length > 0;
  }

  /** Whether the composer may hold a prompt of ours. */
  get isSending(): boolean {
    return this.#busy || this.#sent !== null;
  }

  /** Whether the fate of a prompt is still open. */
  get unsettled(): boolean {
    return this.#sent !== null || this.#received.length > 0;
  }

  progressOf(promptId: string): PromptProgress | null {
    return this.#progress.get(promptId) ?? null;
  }

  /** The agent took a prompt that may be the one that waits for its confirmation. */
  doubt(): void {
    if (this.#sent !== null) this.#sent = { ...this.#sent, otherTaken: true };
  }

  /** Takes over what the store holds: queued prompts in order, and one that was sent but not confirmed. */
  resume(prompts: readonly OutboxPrompt[], sentBy: "argv" | "typing"): void {
    for (const prompt of prompts) {
      const turnsBefore = this.#view.turnCount();
      this.#note(prompt.promptId, { state: prompt.state, turnsBefore, turnOver: false });
      if (prompt.state === "queued") this.#waiting = [...this.#waiting, prompt];
      else this.#awaitConfirmation({ promptId: prompt.promptId, text: prompt.prompt, by: sentBy, turnsBefore });
    }
  }

  /** @param prompt its `onDraft` also counts for a prompt before it that waits for the draft to go */
  add(prompt: OutboxPrompt): void {
    const { onDraft } = prompt;
    if (onDraft !== undefined) this.#waiting = this.#waiting.map((other) => ({ onDraft, ...other }));
    this.resume([prompt], "argv");
    this.pump();
  }

  /** Sends the next prompt if now is the time; otherwise the next change of state tries again. */
  pump(): void {
    const next = this.#waiting[0];
    if (next === undefined || this.#busy || this.#holds > 0 || this.#sent !== null || !this.#view.maySend()) return;
    this.#busy = true;
    this.#send(next)
      .catch((error: unknown) => this.#view.failed(error))
      .finally(() => {
        this.#busy = false;
      });
  }

  /** Sends nothing while `task` runs. */
  async hold<T>(task: () => Promise<T>): Promise<T> {
    this.#holds += 1;
    try {
      return await task();
    } finally {
      this.#holds -= 1;
      this.pump();
    }
  }

  async #send(prompt: OutboxPrompt): Promise<void> {
    const { promptId, prompt: text, onDraft, mayFollow } = prompt;
    const turnsBefore = await this.#view.turnsBeforeNext();
    try {
      const typed = await typePrompt(this.#deps, this.#terminal, {
        text,
        onDraft,
        mayFollow,
        maySend: () => this.#view.maySendNow(),
        onTyping: async (draft) => {
          // Its session may have been closed, and the prompt given up.
          const moved = await this.#deps.queue.mark(promptId, "sent");
          this.#waiting = this.#waiting.filter((other) => other.promptId !== promptId);
          if (!moved) return false;
          this.#typing = promptId;
          this.#note(promptId, { state: "sent", turnsBefore, turnOver: false });
          if (this.#canConfirm(text)) this.#awaitConfirmation({ promptId, text, draft, by: "typing", turnsBefore });
          return true;
        },
      });
      this.#noteDraft(typed === "draft");
      await this.#afterTyping(prompt, typed);
    } finally {
      await this.#typedAll(prompt);
    }
    if (this.#sent === null && this.#progress.get(promptId)?.state === "unknown") {
      await this.#deps.clock.sleep(commandSettleMs);
    }
  }

  async #afterTyping(prompt: OutboxPrompt, typed: TypedPrompt): Promise<void> {
    const { promptId, prompt: text } = prompt;
    const isSent = this.#sent?.promptId === promptId;
    // What was typed had to be seen first, which may have taken as long as a confirmation may.
    if (isSent && this.#sent !== null) this.#sent = { ...this.#sent, sentAt: this.#deps.clock.now() };
    if (typed === "not_typed") return this.#takeBack(prompt);
    if (typed === "lost" && isSent && this.#sent !== null) await this.#giveUp(this.#sent, "lost");
    // Of a prompt, its turn in the transcript has the last word.
    if ((typed !== "lost" && typed !== "held") || this.#canConfirm(text)) return;
    // It stays in the composer, where the next one would be typed behind it.
    const certain = typed === "lost" || (await clearComposer(this.#deps, this.#terminal, { text }));
    await this.#settle(promptId, certain ? "lost" : "unknown");
  }

  /** Nothing of it went out: it is the next one again. */
  async #takeBack(prompt: OutboxPrompt): Promise<void> {
    if (this.#sent?.promptId === prompt.promptId) this.#sent = null;
    this.#typing = null;
    await this.#deps.queue.putBack(prompt.promptId);
    this.#waiting = [prompt, ...this.#waiting];
    this.#note(prompt.promptId, { state: "queued", turnsBefore: this.#view.turnCount(), turnOver: false });
  }

  /** Nothing will tell what became of a command. */
  async #typedAll({ promptId, prompt }: OutboxPrompt): Promise<void> {
    if (this.#typing !== promptId) return;
    this.#typing = null;
    if (!this.#canConfirm(prompt) && this.#progress.get(promptId)?.state === "sent") {
      await this.#settle(promptId, "unknown");
    }
  }

  #noteDraft(draft: boolean): void {
    if (this.#draft === draft) return;
    this.#draft = draft;
    this.#view.changed();
  }

  #awaitConfirmation(prompt: Pick<SentPrompt, "promptId" | "text" | "draft" | "by" | "turnsBefore">): void {
    if (!this.#canConfirm(prompt.text)) {
      this.#settle(prompt.promptId, "unknown").catch((error: unknown) => this.#view.failed(error));
      return;
    }
    this.#sent = { ...prompt, sentAt: this.#deps.clock.now(), enters: 1, otherTaken: false };
  }

  /** An agent that reports nothing, or a command of its own, is never confirmed: it stays `sent`. */
  #canConfirm(text: string): boolean {
    const { template } = this.#terminal;
    if (!template.hasHooks && template.transcriptFormat === null) return false;
    return commandIn(text, template) === null;
  }

  /** Whether this prompt is being typed. */
  isTyping(promptId: string): boolean {
    return this.#typing === promptId;
  }

  /** The text of the prompt that waits for its confirmation. */
  get unconfirmed(): string | null {
    return this.#sent?.text ?? null;
  }

  /**
   * The agent took a prompt: ours when the text is the same, else one that was typed into the terminal, or ours in a form that we do not
   * know.
   * @param by its hook, which runs before the agent writes the prompt down, or its transcript
   */
  async onPromptTaken(text: string, by: "hook" | "transcript"): Promise<void> {
    const isIt = (prompt: SentPrompt): boolean => wasReported(prompt, text);
    const sent = this.#sent;
    const taken = sent !== null && isIt(sent) ? sent : this.#late.find(isIt);
    if (taken === undefined) {
      // One that is typed into the terminal while ours runs is part of our turn, or queued behind it by the agent itself.
      this.doubt();
      return;
    }
    if (taken === sent) this.#sent = null;
    this.onTurnOver();
    this.#late = this.#late.filter((late) => late !== taken);
    this.#current = taken.promptId;
    if (by === "transcript" || this.#terminal.template.transcriptFormat === null) {
      return this.#settle(taken.promptId, "delivered");
    }
    this.#received = [...this.#received, { ...taken, receivedAt: this.#deps.clock.now() }].slice(-maxRemembered);
    this.#note(taken.promptId, { state: "received", turnsBefore: taken.turnsBefore, turnOver: false });
  }

  /** Looks for what the agent says it took in its transcript: an agent that is killed in between loses it. */
  async confirm(): Promise<void> {
    for (const received of this.#received) {
      const written = await this.#view.isWritten(received);
      const { now } = this.#deps.clock;
      if (!written && (now() - received.receivedAt < unwrittenMs || !this.#view.maySend())) continue;
      await this.#settleReceived(received, written ? "delivered" : "unknown");
    }
  }

  async #settleReceived(received: SentPrompt, state: "delivered" | "unknown"): Promise<void> {
    if (!this.#received.some(({ promptId }) => promptId === received.promptId)) return;
    this.#received = this.#received.filter(({ promptId }) => promptId !== received.promptId);
    const turnOver = state === "unknown" || (this.#progress.get(received.promptId)?.turnOver ?? false);
    await this.#settle(received.promptId, state, turnOver);
  }

  onTurnOver(): void {
    const current = this.#current;
    const progress = current === null ? undefined : this.#progress.get(current);
    if (current !== null && progress !== undefined) this.#note(current, { ...progress, turnOver: true });
    this.#current = null;
    const sent = this.#sent;
    // The first turn of a process is that of its first prompt, in whatever form the agent reports it.
    if (sent?.by !== "argv" || !sent.otherTaken) return;
    this.#giveUp(sent, "unknown").catch((error: unknown) => this.#view.failed(error));
  }

  /** Looks after a prompt that was sent and not confirmed. */
  async tick(): Promise<void> {
    await this.confirm();
    const sent = this.#sent;
    if (sent === null || this.#busy) return;
    const age = this.#deps.clock.now() - sent.sentAt;
    if (sent.by === "argv") {
      // Its time begins when the agent has started.
      if (this.#view.starting()) this.#sent = { ...sent, sentAt: this.#deps.clock.now() };
      else if (age > argvLostMs) await this.#giveUp(sent, "unknown");
      return;
    }
    if (age < enterAgainMs) return;
    // While a turn runs or a dialog is open its time stands still: neither Enter nor the next prompt may go out.
    if (!(await this.#view.maySendNow())) {
      this.#sent = { ...sent, sentAt: this.#deps.clock.now() - enterAgainMs };
      return;
    }
    if (age > typedLostMs) {
      const takenOut =
        !(await this.#view.wasTaken(sent.text)) && (await clearComposer(this.#deps, this.#terminal, sent));
      return this.#giveUp(sent, takenOut ? "lost" : "unknown");
    }
    const held = await composerHolds(this.#deps, this.#terminal, sent);
    if (held && age > enterAgainMs * sent.enters && sent.enters <= 2 && this.#sent === sent) {
      this.#sent = { ...sent, enters: sent.enters + 1 };
      await this.#deps.host.write(this.#terminal.terminalId, "\r");
    }
    if (held === false && sent.otherTaken) await this.#giveUp(sent, "unknown");
  }

  /** The process is gone; what waits stays for a resume. */
  async onEnded(exit: TerminalExit | null): Promise<void> {
    const sent = this.#sent;
    if (sent !== null) await this.#giveUp(sent, endedItself(exit) && this.#neverTook(sent) ? "lost" : "unknown");
    for (const received of this.#received) {
      await this.#settleReceived(received, (await this.#view.isWritten(received)) ? "delivered" : "unknown");
    }
    this.onTurnOver();
  }

  /** An agent takes a prompt only after its hook has reported it; without hooks, not before it has started. */
  #neverTook({ otherTaken }: SentPrompt): boolean {
    return !otherTaken && (this.#view.starting() || (this.#terminal.template.hasHooks && this.#view.hooksReport()));
  }

  async #giveUp(sent: SentPrompt, state: "lost" | "unknown"): Promise<void> {
    // A gateway that was asleep hears of it late.
    if (await this.#view.wasTaken(sent.text)) return this.onPromptTaken(sent.text, "transcript");
    if (this.#sent?.promptId !== sent.promptId) return;
    this.#sent = null;
    if (state === "unknown") this.#late = [...this.#late, sent].slice(-maxLate);
    await this.#settle(sent.promptId, state);
    this.pump();
  }

  async #settle(
    promptId: string,
    state: "delivered" | "lost" | "unknown",
    turnOver = state !== "delivered",
  ): Promise<void> {
    const turnsBefore = this.#progress.get(promptId)?.turnsBefore ?? this.#view.turnCount();
    this.#note(promptId, { state, turnsBefore, turnOver });
    await this.#deps.queue.mark(promptId, state);
  }

  #note(promptId: string, progress: PromptProgress): void {
    this.#progress.set(promptId, progress);
    for (const oldest of this.#progress.keys()) {
      if (this.#progress.size <= maxRemembered) break;
      this.#progress.delete(oldest);
    }
    this.#view.changed();
  }
}

/**
 * Whether no signal ended the agent. A signal to its process group, as when its terminal host is killed, ends a hook before it reports;
 * Codex 0.169.0 then continues without it and writes the prompt down before it ends too.
 */
function endedItself(exit: TerminalExit | null): boolean {
  return exit !== null && exit.signal === null && exit.exitCode <= 128;
}

/** With a draft before it, the agent reports both as one. */
function wasReported({ text, draft }: SentPrompt, reported: string): boolean {
  return samePrompt(text, reported) || (Boolean(draft) && containsPrompt(text, reported));
}
