import type { MessageForm, TurnOfLine } from "../transcripts/index.ts";
import type { Turn } from "../wire/turn.ts";

/** A piece of what was said in one turn: a turn's text may come in several pieces, in their order. */
export interface TurnText {
  readonly turnIndex: number;
  readonly role: Turn["role"];
  /** What the user or the assistant said; no tool calls, results or thinking. */
  readonly text: string;
  /** What was told before of this turn, and of later ones, is void. Rare: an older Codex tells a prompt in two forms. */
  readonly restarts?: true;
}

/** Where a collector stands, to go on with the same file later. JSON can hold it. */
export interface CollectorState {
  /** The last turn that was seen; -1 before the first. */
  readonly turnIndex: number;
  readonly turnStart: number;
  /** How much of its text was taken. */
  readonly characters: number;
  /** A command of the user that becomes a turn if the model answers it. */
  readonly command: string | null;
  readonly form: MessageForm;
  /** The last turn of which text was handed over. */
  readonly handedOver: number;
}

/** Takes the said text out of a transcript's lines while they are scanned. One for each scan. */
export interface TextCollector {
  /**
   * One complete line that the indexer has just taken (`indexer.line` was true), and the turn that is the last one now; null while there
   * is none. To be called for every line, in order. Cheap for lines that say nothing. Never throws for what a line holds.
   */
  line(bytes: Buffer, turn: TurnOfLine | null): void;
  /** What was collected since the last call; to be called at each pause of the scan, so that it stays bounded. */
  take(): readonly TurnText[];
  /** For the collector that goes on when the file has grown. */
  state(): CollectorState;
}

/** Where titles and the text of turns are kept to be found. Writes happen in the caller's transaction. */
export interface TextIndex {
  /** Adds pieces of a transcript's turns, in order; a turn that grew is added to. Of a new transcript nothing is looked for. */
  add(transcriptId: number, texts: readonly TurnText[], options?: { readonly isNew: boolean }): Promise<void>;
  /** Sets what a search in titles looks at, when it is new or has changed. */
  setHead(
    transcriptId: number,
    head: { readonly title: string | null; readonly firstMessage: string | null },
    options?: { readonly isNew: boolean },
  ): Promise<void>;
  /** Forgets all of a transcript. */
  remove(transcriptId: number): Promise<void>;
}
