import type { Turn } from "../wire/turn.ts";
import type { SavedIndexer } from "./saved-indexer.ts";
import type { TurnState } from "./transcript.ts";

/** Where a turn begins. Its lines go on to the next mark; of a user turn only the first line counts. */
export interface TurnMark {
  readonly role: "user" | "assistant";
  /** Offset of its first line. */
  readonly start: number;
  /** Bytes of its first line, without the newline. */
  readonly firstLineBytes: number;
  /** What was known when an assistant turn began and its own lines do not tell. */
  readonly before?: TurnPrelude;
  /** The user stopped the turn. */
  readonly interrupted?: true;
}

/** Notes that the user stopped the agent's newest turn. A prompt that was stopped before any answer stays as it was: it may have been read. */
export function interruptLast(marks: TurnMark[]): void {
  const last = marks.at(-1);
  if (last?.role === "assistant" && last.interrupted !== true) marks[marks.length - 1] = { ...last, interrupted: true };
}

/** The form in which a transcript holds messages, oldest first: versions of one agent differ. */
export type MessageForm = "responses" | "events" | "items";

/** What a transcript says in front of a turn. */
export interface TurnPrelude {
  readonly agentSessionId: string | null;
  readonly model: string | null;
  /** The newest form of messages that the file had so far. */
  readonly form: MessageForm;
  /** The session's token total, to tell a repeated count from a new one. */
  readonly totalTokens: number | null;
}

/** What the lines say beside the turns. */
export interface TranscriptFacts {
  agentSessionId: string | null;
  cwd: string | null;
  branch: string | null;
  model: string | null;
  /** The title that the agent gave. */
  ownTitle: string | null;
  firstPrompt: string | null;
  createdAt: string | null;
  updatedAt: string | null;
  lastTurn: TurnState;
  /** Lines so far that may say something of a turn. */
  turnLines: number;
}

/** Facts of an empty transcript. */
export function noFacts(): TranscriptFacts {
  return {
    agentSessionId: null,
    cwd: null,
    branch: null,
    model: null,
    ownTitle: null,
    firstPrompt: null,
    createdAt: null,
    updatedAt: null,
    lastTurn: { kind: "none" },
    turnLines: 0,
  };
}

/**
 * Finds the turns of a transcript, line by line in file order. It parses only lines that may begin a turn, and the last telling
 * line before each `pause`; everything else is told by a few bytes.
 */
export interface TurnIndexer {
  readonly marks: readonly TurnMark[];
  /** Turns in front of the first mark: 0, but for an indexer that goes on where another one stood. */
  readonly turnsBefore: number;
  readonly facts: Readonly<TranscriptFacts>;
  /** @returns false when the line is no line of this format: to be counted as skipped. */
  line(bytes: Buffer, offset: number): boolean;
  /** The bytes of the lines so far go away: parse what had been put off. */
  pause(): void;
  /** What is needed to go on from here, right after a `pause`; null when that is too much to be put by. */
  save(): SavedIndexer | null;
}

/** Puts one turn together from its lines. */
export interface TurnBuilder {
  /** @returns false when the line could not be parsed: to be counted as skipped. */
  line(bytes: Buffer): boolean;
  /** The turn so far; the builder can go on afterwards. */
  turn(index: number): Turn;
}

/** Finds and builds the turns of one format. */
export interface TranscriptReader {
  /** @param saved where to go on; one of another format is as none */
  createIndexer(saved?: SavedIndexer): TurnIndexer;
  createTurnBuilder(mark: TurnMark): TurnBuilder;
}
