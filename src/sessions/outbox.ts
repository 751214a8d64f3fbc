import { type AgentTemplate, handOver } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import type { TerminalExit } from "../terminal-host/terminal-info.ts";
import { typePrompt } from "./deliver.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import {
  type OutboxPrompt,
  type PromptEffect,
  type PromptMessage,
  type PromptProgress,
  type PromptsState,
  type SentPrompt,
} from "./prompts.ts";
import { waitingIds } from "./queue-changes.ts";
import { clearComposer, composerHolds, pressEnter, type TypingHost, unlessGone } from "./submit.ts";

// After a command that is never confirmed, such as /clear, the next prompt waits this long.
const commandSettleMs = 1_500;
// On a loaded machine, this took up to 10 s. A prompt that is still in the composer after this becomes a draft.
const commandShownMs = 30_000;
const commandPollMs = 100;

export interface OutboxDeps {
  readonly host: TypingHost;
  readonly clock: Clock;
  readonly queue: Pick<PromptQueue, "mark" | "putBack" | "textOf">;
}

/** Where an outbox types. */
export interface OutboxTerminal {
  readonly terminalId: string;
  readonly template: AgentTemplate;
  /** The file from which the agent's editor reads a prompt. */
  readonly promptPath: string;
}

/** What an outbox needs of its session. */
export interface OutboxView {
  /** The session's prompts. */
  state(): PromptsState;
  /** Changes the state immediately; resolves when the effects have been carried out. */
  post(message: PromptMessage): Promise<void>;
  /** Whether the agent is idle and nothing waits for an answer: the only time to type. */
  maySend(): boolean;
  /** The same check, including the agent's own state: no dialog may be open when something is typed. */
  maySendNow(): Promise<boolean>;
  /** All turns in the transcript, once the last one is complete. They come before the prompt that is typed next. */
  turnsBeforeNext(): Promise<number>;
  /** Checks once more whether the agent accepted this prompt, in its hooks' reports and in the transcript. */
  wasTaken(text: string): Promise<boolean>;
  /** Whether this prompt, which the agent reported as accepted, is in the transcript. */
  isWritten(prompt: SentPrompt): Promise<boolean>;
  failed(error: unknown): void;
}

/** The prompts of one live agent. `nextPrompts` decides; the outbox carries it out. */
export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #terminal: OutboxTerminal;
  readonly #view: OutboxView;

  constructor(deps: OutboxDeps, terminal: OutboxTerminal, view: OutboxView) {
    this.#deps = deps;
    this.#terminal = terminal;
    this.#view = view;
  }

  get #state(): PromptsState {
    return this.#view.state();
  }

  /** Prompts that were not sent yet. */
  get waitingCount(): number {
    return this.#state.waiting.length;
  }

  /** Whether the next prompt waits because the composer holds text that is not ours. */
  get draft(): boolean {
    return this.#state.behindDraft && this.#state.waiting.length > 0;
  }

  /** Whether the composer may hold a prompt of ours. */
  get isSending(): boolean {
    return this.#state.sending !== null || this.#state.sent !== null;
  }

  /** The text of the prompt that waits for its confirmation. */
  get unconfirmed(): string | null {
    return this.#state.sent?.text ?? null;
  }

  progressOf(promptId: string): PromptProgress | null {
    return this.#state.progress.get(promptId) ?? null;
  }

  /** Whether this prompt is being typed. */
  isTyping(promptId: string): boolean {
    const { sending } = this.#state;
    return sending?.typing === true && sending.prompt.promptId === promptId;
  }

  /** The store's queue was changed. */
  changeQueue(change: Extract<PromptMessage, { kind: "edited" | "moved" | "cancelled" }>): void {
    this.#post(change);
  }

  /** The waiting prompt with this id; null if it does not wait. */
  waitingPrompt(promptId: string): OutboxPrompt | null {
    return this.#state.waiting.find((prompt) => prompt.promptId === promptId) ?? null;
  }

  /** The prompts that wait for their turn; null until the store's prompts are read. */
  get queue(): { readonly promptIds: readonly string[]; readonly edits: number } | null {
    const { isRead, edits } = this.#state;
    return isRead ? { promptIds: waitingIds(this.#state), edits } : null;
  }

  /** @param prompt its `onDraft` also applies to an earlier prompt that waits for the draft to be removed */
  add(prompt: OutboxPrompt): void {
    this.#post({ kind: "added", prompt });
  }

  /** Sends nothing while `task` runs. */
  async hold<T>(task: () => Promise<T>): Promise<T> {
    this.#post({ kind: "held" });
    try {
      return await task();
    } finally {
      this.#post({ kind: "released" });
    }
  }

  /** Searches the transcript for prompts that the agent reported as accepted. */
  confirm(): Promise<void> {
    return this.#search(false);
  }

  /** Checks on a prompt that was sent and not confirmed. */
  async tick(): Promise<void> {
    await this.confirm();
    await this.#view.post({ kind: "tick" });
  }

  /** The process is gone; waiting prompts stay for a resume. */
  async onEnded(exit: TerminalExit | null): Promise<void> {
    await this.#view.post({ kind: "ended", exit });
    await this.#search(true);
    await this.#view.post({ kind: "turn_over" });
  }

  async #search(final: boolean): Promise<void> {
    for (const prompt of this.#state.received) {
      const written = await this.#view.isWritten(prompt);
      await this.#view.post({ kind: "searched", promptId: prompt.promptId, written, final });
    }
  }

  #post(message: PromptMessage): void {
    this.#view.post(message).catch((error: unknown) => this.#view.failed(error));
  }

  async carryOut(effect: PromptEffect): Promise<void> {
    const { queue } = this.#deps;
    const terminal = this.#terminal;
    switch (effect.kind) {
      case "send":
        this.#send(effect.prompt)
          .catch((error: unknown) => this.#view.failed(error))
          .finally(() => this.#post({ kind: "sending_ended", promptId: effect.prompt.promptId }));
        return;
      case "mark":
        await queue.mark(effect.promptId, effect.state);
        return;
      case "put_back":
        return queue.putBack(effect.promptId);
      case "press_enter":
        return pressEnter(this.#deps, terminal, { ...effect.sent, mayWrite: () => this.#view.maySend() });
      case "clear": {
        const cleared = await clearComposer(this.#deps, terminal, effect);
        return this.#view.post({ kind: "cleared", promptId: effect.promptId, cleared });
      }
      case "look":
        return this.#look(effect);
      case "ask_again": {
        const { promptId, text } = effect.sent;
        const taken = await this.#view.wasTaken(text);
        return this.#view.post({ kind: "asked_again", promptId, taken, state: effect.state });
      }
    }
  }

  async #look({ sent, overdue }: Extract<PromptEffect, { kind: "look" }>): Promise<void> {
    const { promptId } = sent;
    if (!(await this.#view.maySendNow())) return this.#view.post({ kind: "looked", promptId, maySend: false });
    if (overdue) {
      const removed =
        !(await this.#view.wasTaken(sent.text)) && (await clearComposer(this.#deps, this.#terminal, sent));
      return this.#view.post({ kind: "given_up", promptId, state: removed ? "lost" : "unknown" });
    }
    const held = await composerHolds(this.#deps, this.#terminal, sent);
    return this.#view.post({ kind: "looked", promptId, maySend: true, held });
  }

  /** Reads a prompt that cannot be sent as it is again: it was edited, cancelled, or given up because its session was closed. */
  async #readAgain(promptId: string): Promise<void> {
    const waiting = this.#state.waiting.find((other) => other.promptId === promptId);
    const prompt = await this.#deps.queue.textOf(promptId);
    if (prompt === null || waiting === undefined) return this.#view.post({ kind: "revoked", promptId });
    if (prompt !== waiting.prompt) await this.#view.post({ kind: "edited", prompt: { ...waiting, prompt } });
  }

  /** An agent under load runs a command before it repaints. Until then, the text would look like a draft. */
  async #settle(command: string): Promise<void> {
    const { clock } = this.#deps;
    const deadline = clock.now() + commandShownMs;
    const holds = (): Promise<boolean | null> => composerHolds(this.#deps, this.#terminal, { text: command });
    while (clock.now() < deadline && (await unlessGone(holds(), null)) === true) await clock.sleep(commandPollMs);
    await clock.sleep(commandSettleMs);
  }

  async #send({ promptId, prompt, files = [], onDraft, mayFollow }: OutboxPrompt): Promise<void> {
    const turnsBefore = await this.#view.turnsBeforeNext();
    try {
      const result = await typePrompt(this.#deps, this.#terminal, {
        ...handOver(this.#terminal.template, prompt, files),
        onDraft,
        mayFollow,
        maySend: () => this.#view.maySendNow(),
        mayWrite: () => this.#view.maySend(),
        onTyping: async (draft) => {
          // A task holds the session, or another prompt was moved before this one.
          if (this.#state.holds > 0 || this.#state.waiting[0]?.promptId !== promptId) return false;
          const isOurs = await this.#deps.queue.mark(promptId, "sent", prompt);
          await (isOurs
            ? this.#view.post({ kind: "typing", promptId, draft, turnsBefore })
            : this.#readAgain(promptId));
          return isOurs;
        },
      });
      await this.#view.post({ kind: "typed", promptId, result });
    } finally {
      await this.#view.post({ kind: "typing_ended", promptId });
    }
    if (this.#state.sent === null && this.progressOf(promptId)?.state === "unknown") await this.#settle(prompt);
  }
}
