import type { MessageForm, TurnMark } from "./turn-index.ts";

/** The turn in which a line stands. */
export interface TurnOfLine {
  readonly index: number;
  /** The indexer's last mark: `marks.at(-1)`. */
  readonly mark: TurnMark;
}

/** The turn of a line, as a format's reader sees it. */
export interface CollectorTurn extends TurnOfLine {
  /** Whether the turn begins with this line. */
  readonly begins: boolean;
  /** How many turns begin with this line: two, when a command of the user turns out to be answered. */
  readonly began: number;
  /** Adds text to this turn. */
  say(text: string): void;
  /** Adds text to the turn before, which was the user's. */
  sayBefore(text: string): void;
  /** What was told of this turn is void. */
  restart(): void;
}

/** What a format's reader has to remember from line to line. */
export interface CollectorMemory {
  /** @see CollectorState */
  command: string | null;
  form: MessageForm;
  /** Lines of this turn that were read: a resumed session repeats some. */
  readonly seenLines: Set<string>;
}

/** Takes in one line; `turn` is null before the first. */
export type ReadText = (bytes: Buffer, memory: CollectorMemory, turn: CollectorTurn | null) => void;
