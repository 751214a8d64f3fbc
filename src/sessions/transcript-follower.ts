import type { AgentTemplate } from "../agents/index.ts";
import { oneAtATime } from "../core/coalesce.ts";
import type { TranscriptSummary, Transcripts, TurnRange } from "../transcripts/index.ts";
import type { Turn } from "../wire/turn.ts";
import { containsPrompt, samePrompt } from "./prompts.ts";

// More turns than an agent is likely to have added while no gateway ran.
const recentTurns = 50;
// The number of turns to search for a prompt, starting at the first turn that may contain it.
const searchedTurns = 20;
export interface TranscriptFollowerDeps {
  readonly transcripts: Transcripts;
  readonly template: Pick<AgentTemplate, "transcriptFormat">;
  /** Called with the newly read part: null if there is no file yet. */
  readonly onRead: (summary: TranscriptSummary | null) => void;
  /** Called after appended lines were read. */
  readonly onChange: () => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** Reads the transcript of one live session as it grows. */
export class TranscriptFollower {
  readonly #deps: TranscriptFollowerDeps;
  #path: string | null = null;
  #unwatch = (): void => undefined;
  readonly #readOn = oneAtATime(async () => {
    try {
      await this.refresh();
      await this.#deps.onChange();
    } catch (error) {
      this.#deps.onError(error);
    }
  });

  constructor(deps: TranscriptFollowerDeps) {
    this.#deps = deps;
  }

  get path(): string | null {
    return this.#path;
  }

  /** Follows this file from now on. */
  async follow(path: string): Promise<void> {
    this.#unwatch();
    this.#path = path;
    this.#unwatch = this.#deps.transcripts.watch(path, () => void this.#readOn());
    await this.refresh();
  }

  /** Reads appended lines. */
  async refresh(): Promise<void> {
    const { transcripts, template, onRead } = this.#deps;
    const path = this.#path;
    if (path === null || template.transcriptFormat === null) return;
    const summary = await transcripts.summary(path, template.transcriptFormat);
    if (path === this.#path) onRead(summary); // otherwise the session moved to another file during the read
  }

  /** Whether this prompt is in turn `from` or a later one. */
  async hasPrompt(text: string, from: number): Promise<boolean> {
    const turns = await this.#read({ after: from - 1, limit: searchedTurns });
    return turns.some((turn) => turn.role === "user" && samePrompt(text, turn.text));
  }

  /** The same for a prompt that the agent reported as accepted, even if it is only a part of the turn's text. */
  async holdsPrompt(text: string, from: number): Promise<boolean> {
    const turns = await this.#read({ after: from - 1, limit: searchedTurns });
    return turns.some((turn) => turn.role === "user" && containsPrompt(text, turn.text));
  }

  /** The oldest recent turn that started with this prompt at that time or later, regardless of later turns; null if there is none. */
  async findPromptSince(text: string, since: number): Promise<number | null> {
    const turns = await this.#read({ limit: recentTurns });
    const wasTaken = ({ role, at, text: said }: Turn): boolean =>
      role === "user" && at !== null && Date.parse(at) >= since && samePrompt(text, said);
    return turns.find(wasTaken)?.index ?? null;
  }

  async #read(range: TurnRange): Promise<readonly Turn[]> {
    const { transcripts, template } = this.#deps;
    if (this.#path === null || template.transcriptFormat === null) return [];
    return (await transcripts.read(this.#path, template.transcriptFormat, range))?.turns ?? [];
  }

  close(): void {
    this.#unwatch();
  }
}
