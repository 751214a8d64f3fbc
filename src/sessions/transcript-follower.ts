import type { AgentTemplate } from "../agents/index.ts";
import { oneAtATime } from "../core/coalesce.ts";
import type { TranscriptSummary, Transcripts, TurnRange } from "../transcripts/index.ts";
import type { Turn } from "../wire/turn.ts";
import { containsPrompt, samePrompt } from "./same-prompt.ts";

// What an agent may have done while no gateway ran, beside the one prompt that is looked for.
const recentTurns = 50;
// A time without milliseconds may be so much later.
const wholeSecondMs = 999;

/**
 * Follows the transcript of one live session: its newest summary, and how many turns it had while the agent was last idle, so
 * that a mark in the file is never taken for the end of a turn that only just began.
 */
export class TranscriptFollower {
  readonly #transcripts: Transcripts;
  readonly #template: AgentTemplate;
  readonly #onChange: () => Promise<void>;
  readonly #onError: (error: unknown) => void;
  #path: string | null = null;
  #unwatch = (): void => undefined;
  #summary: TranscriptSummary | null = null;
  #turnsWhenIdle = 0;
  /** While the agent is idle: whether the file says so too. */
  #settled = false;
  /** Whether the file said that a turn runs, since the agent was idle. */
  #sawOpen = false;
  /** When the agent took the newest prompt, by its hook. */
  #promptAt = 0;
  readonly #readOn = oneAtATime(async () => {
    try {
      await this.refresh();
      await this.#onChange();
    } catch (error) {
      this.#onError(error);
    }
  });

  constructor(deps: {
    readonly transcripts: Transcripts;
    readonly template: AgentTemplate;
    /** Called after what was appended has been read. */
    readonly onChange: () => Promise<void>;
    readonly onError: (error: unknown) => void;
  }) {
    this.#transcripts = deps.transcripts;
    this.#template = deps.template;
    this.#onChange = deps.onChange;
    this.#onError = deps.onError;
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
    const begun = this.hasNewTurn || this.#sawOpen;
    return begun && this.#summary?.lastTurn.kind !== "open" && !this.#standsBeforePrompt;
  }

  /** Whether all that is written is older than the newest prompt: hooks may be faster than the file, and its end is the one before. */
  get #standsBeforePrompt(): boolean {
    const written = Date.parse(this.#summary?.updatedAt ?? "");
    return written + (written % 1_000 === 0 ? wholeSecondMs : 0) < this.#promptAt;
  }

  /** Whether a turn began, of a prompt or of a command, after the file said that the agent is idle. */
  get hasBegun(): boolean {
    return this.#settled && this.#summary?.lastTurn.kind === "open";
  }

  /** A turn has ended; what the file says of it comes a moment later. */
  markTurnOver(): void {
    this.#settled = false;
  }

  /** The agent said that it took a prompt at this time. */
  markPrompt(at: number): void {
    this.#promptAt = at;
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
    this.#settled = false;
    this.#sawOpen = false;
    this.#promptAt = 0;
    this.#unwatch = this.#transcripts.watch(path, () => void this.#readOn());
    await this.refresh();
  }

  /** Reads what was appended. */
  async refresh(): Promise<void> {
    const format = this.#template.transcriptFormat;
    const path = this.#path;
    if (path === null || format === null) return;
    const summary = await this.#transcripts.summary(path, format);
    if (path !== this.#path) return; // the session moved to another file during the read
    this.#summary = summary;
    if (this.hasBegun) this.#sawOpen = true;
  }

  /** The agent is idle: what the transcript has now is before the next prompt. */
  markIdle(): void {
    if (this.#summary === null || this.#summary.lastTurn.kind === "open") return;
    this.#turnsWhenIdle = this.#summary.turnCount;
    this.#settled = true;
    this.#sawOpen = false;
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
    const turns = await this.#read({ after: this.#turnsWhenIdle - 1, limit: 20 });
    return turns.some((turn) => turn.role === "user" && samePrompt(text, turn.text));
  }

  /** Whether this prompt, of which the agent said that it took it, is among the turns from this one on. */
  async holdsPrompt({ text, turnsBefore }: { readonly text: string; readonly turnsBefore: number }): Promise<boolean> {
    // With fewer turns than there were, it is another transcript: the agent began a new session with this prompt.
    const first = turnsBefore > (this.#summary?.turnCount ?? 0) ? 0 : turnsBefore;
    const turns = await this.#read({ after: first - 1, limit: 20 });
    return turns.some((turn) => turn.role === "user" && containsPrompt(text, turn.text));
  }

  /** The oldest recent turn in which this prompt was taken at that time or later, whatever the agent has done since; null when there is none. */
  async findPromptSince(text: string, since: number): Promise<number | null> {
    const turns = await this.#read({ limit: recentTurns });
    const wasTaken = ({ role, at, text: said }: Turn): boolean =>
      role === "user" && at !== null && Date.parse(at) >= since && samePrompt(text, said);
    return turns.find(wasTaken)?.index ?? null;
  }

  /** The turns from this one on are not before the prompt that comes next. */
  markBefore(turn: number): void {
    this.#turnsWhenIdle = turn;
  }

  async #read(range: TurnRange): Promise<readonly Turn[]> {
    const format = this.#template.transcriptFormat;
    if (this.#path === null || format === null) return [];
    return (await this.#transcripts.read(this.#path, format, range))?.turns ?? [];
  }

  close(): void {
    this.#unwatch();
  }
}
