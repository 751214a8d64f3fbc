import type { Turn } from "../../wire/turn.ts";

/** A piece of what was said in one turn: a turn's text may come in several pieces, in their order. */
export interface TurnText {
  readonly turnIndex: number;
  readonly role: Turn["role"];
  /** What the user or the assistant said; no tool calls, results or thinking. */
  readonly text: string;
}

/** Takes the said text out of a transcript's lines while they are scanned. One for each scan; bounded between two `take`s. */
export interface TextCollector {
  /** One complete line, and the turn that it belongs to. Cheap for lines that say nothing. Never throws for what a line holds. */
  line(bytes: Buffer, turn: { readonly index: number; readonly role: Turn["role"] }): void;
  /** What was collected since the last call. */
  take(): readonly TurnText[];
}

/** Where the text of turns is kept to be found. Writes happen in the caller's transaction. */
export interface TextIndex {
  /** Adds pieces of a transcript's turns; a turn that grew is added to. */
  add(transcriptId: number, texts: readonly TurnText[]): Promise<void>;
  /** Forgets a transcript's text. */
  remove(transcriptId: number): Promise<void>;
}
