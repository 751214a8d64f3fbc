import type { Clock } from "../../core/clock.ts";
import type { TerminalHostClient } from "../../terminal-host/terminal-info.ts";
import type { AgentTemplate } from "../agents/template.ts";
import { commandIn, withoutInvisible } from "../prompt-text.ts";
import { composerOnScreen, typePrompt } from "./deliver.ts";
import type { OpenPrompt, PromptQueue, PromptState } from "./prompt-queue.ts";
import { takeOut } from "./submit.ts";

/** How far a prompt has come. */
export interface PromptProgress {
  readonly state: PromptState;
  /** Turns in the transcript before this prompt's; known once it was sent. */
  readonly turnsBefore: number;
  /** Whether the turn that it began has ended. */
  readonly turnOver: boolean;
}

/** Where an outbox types. */
export interface OutboxTerminal {
  readonly terminalId: string;
  readonly template: AgentTemplate;
  /** Where a prompt lies for the agent's editor to fetch. */
  readonly promptPath: string;
}

/** What an outbox needs to know of its session at the moment. */
export interface OutboxView {
  /** Whether the agent is idle and nothing waits for an answer: the only time to type. */
  maySend(): boolean;
  /** The same, asked of the agent too: no dialog may be open when something is typed. */
  maySendNow(): Promise<boolean>;
  /** Whether the agent is still booting. */
  starting(): boolean;
  /** Turns in the transcript while the agent was last idle. */
  turnCount(): number;
  /** All turns in the transcript, once the last one has been written to its end: those before the prompt that is typed next. */
  turnsBeforeNext(): Promise<number>;
  /** Looks once more whether the agent took this prompt: in what its hooks left, and in the transcript. */
  wasTaken(text: string): Promise<boolean>;
  changed(): void;
  failed(error: unknown): void;
}

interface SentPrompt {
  readonly promptId: string;
  readonly text: string;
  /** On the command line, or typed into the terminal. */
  readonly by: "argv" | "typing";
  readonly sentAt: number;
  readonly enters: number;
}

// Confirmed prompts take 0.1 to 0.9 s in both agents; Enter is repeated once for a TUI that swallowed it.
const enterAgainMs = 3_000;
// What is never confirmed, such as /clear, gets this long before the next prompt.
const commandSettleMs = 1_500;
const typedLostMs = 20_000;
const argvLostMs = 60_000;
// Callers ask about their own, recent prompt.
const maxRemembered = 200;

/** Takes prompts to one live agent, one at a time, in order, each at most once. */
export class Outbox {
  readonly #deps: { readonly host: TerminalHostClient; readonly clock: Clock; readonly queue: PromptQueue };
  readonly #terminal: OutboxTerminal;
  readonly #view: OutboxView;
  readonly #progress = new Map<string, PromptProgress>();
  #waiting: OpenPrompt[] = [];
  #sent: SentPrompt | null = null;
  /** The prompt that is being typed. */
  #typing: string | null = null;
  /** The prompt whose turn runs. */
  #current: string | null = null;
  #busy = false;
  /** How many tasks must not be typed into. */
  #holds = 0;

  constructor(
    deps: { readonly host: TerminalHostClient; readonly clock: Clock; readonly queue: PromptQueue },
    terminal: OutboxTerminal,
    view: OutboxView,
  ) {
    this.#deps = deps;
    this.#terminal = terminal;
    this.#view = view;
  }

  /** Prompts that were not sent yet. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  progressOf(promptId: string): PromptProgress | null {
    return this.#progress.get(promptId) ?? null;
  }

  /** Takes over what the store holds: queued prompts in order, and one that was sent but not confirmed. */
  resume(prompts: readonly OpenPrompt[], sentBy: "argv" | "typing"): void {
    for (const prompt of prompts) {
      this.#note(prompt.promptId, { state: prompt.state, turnsBefore: this.#view.turnCount(), turnOver: false });
      if (prompt.state === "queued") this.#waiting.push(prompt);
      else this.#awaitConfirmation(prompt.promptId, prompt.prompt, sentBy);
    }
  }

  add(prompt: OpenPrompt): void {
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

  async #send(prompt: OpenPrompt): Promise<void> {
    const { promptId, prompt: text } = prompt;
    const turnsBefore = await this.#view.turnsBeforeNext();
    try {
      const typed = await typePrompt(this.#deps, this.#terminal, {
        text,
        maySend: () => this.#view.maySendNow(),
        onTyping: async () => {
          await this.#deps.queue.mark(promptId, "sent");
          this.#waiting = this.#waiting.filter((other) => other !== prompt);
          this.#typing = promptId;
          this.#note(promptId, { state: "sent", turnsBefore, turnOver: false });
          if (this.#canConfirm(text)) this.#awaitConfirmation(promptId, text, "typing");
        },
      });
      // What was typed had to be seen first, which may have taken as long as a confirmation may.
      if (this.#sent?.promptId === promptId) this.#sent = { ...this.#sent, sentAt: this.#deps.clock.now() };
      if (typed === "lost" && this.#sent?.promptId === promptId) await this.#lose(this.#sent);
      // Of a prompt, its turn in the transcript has the last word.
      if ((typed === "lost" || typed === "held") && !this.#canConfirm(text)) await this.#giveUp(promptId, text);
    } finally {
      await this.#typedAll(prompt);
    }
    if (this.#sent === null && this.#progress.get(promptId)?.state === "unknown") {
      await this.#deps.clock.sleep(commandSettleMs);
    }
  }

  /** Nothing will tell what became of a command. */
  async #typedAll({ promptId, prompt }: OpenPrompt): Promise<void> {
    if (this.#typing !== promptId) return;
    this.#typing = null;
    if (!this.#canConfirm(prompt) && this.#progress.get(promptId)?.state === "sent") {
      await this.#settle(promptId, "unknown");
    }
  }

  /** It stays in the composer, where the next one would be typed behind it. */
  async #giveUp(promptId: string, text: string): Promise<void> {
    await takeOut(this.#deps, this.#terminal, text);
    await this.#settle(promptId, "lost");
  }

  #awaitConfirmation(promptId: string, text: string, by: "argv" | "typing"): void {
    if (!this.#canConfirm(text)) {
      this.#settle(promptId, "unknown").catch((error: unknown) => this.#view.failed(error));
      return;
    }
    this.#sent = { promptId, text, by, sentAt: this.#deps.clock.now(), enters: 1 };
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

  /** The agent took a prompt: ours when the text is the same, else one that somebody typed into the terminal. */
  async onPromptTaken(text: string): Promise<void> {
    const sent = this.#sent;
    // One that somebody types while ours runs is part of our turn, or queued behind it by the agent itself.
    if (sent === null || !samePrompt(sent.text, text)) return;
    this.onTurnOver();
    this.#sent = null;
    this.#current = sent.promptId;
    await this.#settle(sent.promptId, "delivered");
  }

  onTurnOver(): void {
    const current = this.#current;
    const progress = current === null ? undefined : this.#progress.get(current);
    if (current !== null && progress !== undefined) this.#note(current, { ...progress, turnOver: true });
    this.#current = null;
  }

  /** Looks after a prompt that was sent and not confirmed. */
  async tick(): Promise<void> {
    const sent = this.#sent;
    if (sent === null || this.#busy) return;
    const age = this.#deps.clock.now() - sent.sentAt;
    if (sent.by === "argv") {
      // Its time begins when the agent has started.
      if (this.#view.starting()) this.#sent = { ...sent, sentAt: this.#deps.clock.now() };
      else if (age > argvLostMs) await this.#lose(sent);
      return;
    }
    if (age < enterAgainMs) return;
    // While a turn runs or a dialog is open its time stands still: neither Enter nor the next prompt may go out.
    if (!(await this.#view.maySendNow())) {
      this.#sent = { ...sent, sentAt: this.#deps.clock.now() - enterAgainMs };
      return;
    }
    if (age > typedLostMs) {
      if (!(await this.#view.wasTaken(sent.text))) await takeOut(this.#deps, this.#terminal, sent.text);
      return this.#lose(sent);
    }
    // Enter on an empty composer does nothing.
    if (age > enterAgainMs * sent.enters && sent.enters <= 2) {
      this.#sent = { ...sent, enters: sent.enters + 1 };
      if (await composerOnScreen(this.#deps.host, this.#terminal))
        await this.#deps.host.write(this.#terminal.terminalId, "\r");
    }
  }

  /** The process is gone. What was sent and not confirmed is lost, unless the transcript has it; what waits stays for a resume. */
  async onEnded(inTranscript: (text: string) => Promise<boolean>): Promise<void> {
    const sent = this.#sent;
    if (sent !== null) {
      if (await inTranscript(sent.text)) await this.onPromptTaken(sent.text);
      else await this.#lose(sent);
    }
    this.onTurnOver();
  }

  async #lose(sent: SentPrompt): Promise<void> {
    // A gateway that was asleep hears of it late.
    if (await this.#view.wasTaken(sent.text)) return this.onPromptTaken(sent.text);
    if (this.#sent !== sent) return;
    this.#sent = null;
    await this.#settle(sent.promptId, "lost");
    this.pump();
  }

  async #settle(promptId: string, state: "delivered" | "lost" | "unknown"): Promise<void> {
    const turnsBefore = this.#progress.get(promptId)?.turnsBefore ?? this.#view.turnCount();
    this.#note(promptId, { state, turnsBefore, turnOver: state !== "delivered" });
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

// Hooks cut strings to 16,384 characters (`hook-inbox.mjs`).
const hookCutLength = 16_384;
// Turns of a transcript are cut too; no two prompts in flight differ only after this.
const comparedLength = 8_000;

/**
 * Whether an agent's report of a prompt is of this one. Agents fold white space, compose accents and drop invisible characters
 * (measured: Claude Code), and the report can be cut.
 */
export function samePrompt(ours: string, reported: string): boolean {
  const [left, right] = [asReported(ours), asReported(reported)];
  if (left === "" || right === "") return false;
  if (left === right) return true;
  // The cut can be between a letter and its accent.
  if (reported.length >= hookCutLength && left.startsWith(right.slice(0, -1))) return true;
  return (
    left.length >= comparedLength &&
    right.length >= comparedLength &&
    left.slice(0, comparedLength) === right.slice(0, comparedLength)
  );
}

function asReported(text: string): string {
  return withoutInvisible(text).normalize("NFC").replaceAll(/\s+/g, " ").trim();
}
