import type { Log } from "../../core/log.ts";
import type { AgentTemplate } from "../agents/template.ts";
import type { TranscriptSummary, Transcripts } from "../transcripts/transcript.ts";
import { samePrompt } from "./outbox.ts";

/**
 * Follows the transcript of one live session: its newest summary, and how many turns it had while the agent was last idle, so
 * that a mark in the file is never taken for the end of a turn that only just began.
 */
export class TranscriptFollower {
  readonly #transcripts: Transcripts;
  readonly #template: AgentTemplate;
  readonly #onChange: () => void;
  readonly #log: Log;
  #path: string | null = null;
  #unwatch = (): void => undefined;
  #summary: TranscriptSummary | null = null;
  #turnsWhenIdle = 0;

  constructor(deps: {
    readonly transcripts: Transcripts;
    readonly template: AgentTemplate;
    readonly onChange: () => void;
    readonly log: Log;
  }) {
    this.#transcripts = deps.transcripts;
    this.#template = deps.template;
    this.#onChange = deps.onChange;
    this.#log = deps.log;
  }

  get path(): string | null {
    return this.#path;
  }

  get summary(): TranscriptSummary | null {
    return this.#summary;
  }

  get turnsWhenIdle(): number {
    return this.#turnsWhenIdle;
  }

  /** Whether a turn that began after the agent was idle has come to a mark of its end. */
  get newTurnIsOver(): boolean {
    return this.hasNewTurn && this.#summary?.lastTurn.kind !== "open";
  }

  /** Whether a prompt was written since the agent was idle. */
  get hasNewTurn(): boolean {
    return (this.#summary?.turnCount ?? 0) > this.#turnsWhenIdle;
  }

  /** Follows this file from now on; the same file again changes nothing. */
  async follow(path: string): Promise<void> {
    if (path === this.#path) return;
    this.#unwatch();
    this.#path = path;
    this.#summary = null;
    this.#turnsWhenIdle = 0;
    this.#unwatch = this.#transcripts.watch(path, this.#onChange);
    await this.refresh();
  }

  /** Reads what was appended. */
  async refresh(): Promise<void> {
    const format = this.#template.transcriptFormat;
    if (this.#path === null || format === null) return;
    try {
      this.#summary = await this.#transcripts.summary(this.#path, format);
    } catch (error) {
      this.#log.warn({ agent: this.#template.name, error }, "cannot read a transcript");
    }
  }

  /** The agent is idle: what the transcript has now is before the next prompt. */
  markIdle(): void {
    if (this.#summary !== null && this.#summary.lastTurn.kind !== "open") this.#turnsWhenIdle = this.#summary.turnCount;
  }

  /** A process that goes on from this file: all turns in it are before the next prompt, finished or not. */
  markResumed(): void {
    this.#turnsWhenIdle = this.#summary?.turnCount ?? 0;
  }

  /** A process that was found in mid-turn: its own two turns at the most are not before it. */
  markWorking(): void {
    this.#turnsWhenIdle = Math.max(0, (this.#summary?.turnCount ?? 0) - 2);
  }

  /** Whether this prompt is among the turns since the agent was idle. */
  async hasPrompt(text: string): Promise<boolean> {
    const format = this.#template.transcriptFormat;
    if (this.#path === null || format === null) return false;
    const read = await this.#transcripts.read(this.#path, format, { after: this.#turnsWhenIdle - 1, limit: 20 });
    return read?.turns.some((turn) => turn.role === "user" && samePrompt(text, turn.text)) ?? false;
  }

  close(): void {
    this.#unwatch();
  }
}
