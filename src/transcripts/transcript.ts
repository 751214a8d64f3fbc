import type { Turn } from "../wire/turn.ts";
import type { TurnState } from "./turn-index.ts";

/** What is known of a transcript without its turns. */
export interface TranscriptSummary {
  readonly path: string;
  readonly agentSessionId: string | null;
  readonly cwd: string | null;
  readonly branch: string | null;
  readonly model: string | null;
  /** The agent's own title, else the first user message cut to 200 characters. */
  readonly title: string | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly turnCount: number;
  readonly lastTurn: TurnState;
  /** Lines that turns are made of: as long as there are no more of them, no turn has grown. */
  readonly turnLines: number;
  readonly sizeBytes: number;
  /** Lines that could not be read. A damaged line in the middle of a turn is found, and counted, when the turn is read. */
  readonly skippedLines: number;
}

/** Which turns to return; the newest `limit` of those between `after` and `before`, in ascending order. */
export interface TurnRange {
  readonly after?: number;
  readonly before?: number;
  readonly limit: number;
  /** Adds the pictures in prompts. */
  readonly images?: boolean;
}

/**
 * Reads transcripts, incrementally: a file that grew costs what it grew by, and memory is bounded by the number of turns, not
 * by their size. A last line without newline is not yet a line. Never throws for what a file holds.
 */
export interface Transcripts {
  /**
   * @returns null when there is no such file, or one that this user may not read (the log says so).
   * @throws PosternError `transcript_unreadable` when it cannot be read for another reason
   */
  summary(path: string, format: string): Promise<TranscriptSummary | null>;
  /** Turns may be shared with other callers: do not change them. @returns and throws as `summary`. */
  read(
    path: string,
    format: string,
    range: TurnRange,
  ): Promise<{ readonly summary: TranscriptSummary; readonly turns: readonly Turn[] } | null>;
  /** Calls `listener` soon after the file changed (or appeared). Returns the unsubscribe function. */
  watch(path: string, listener: () => void): () => void;
  close(): Promise<void>;
}
