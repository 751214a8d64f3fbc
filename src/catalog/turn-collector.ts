import {
  type CollectorMemory,
  type CollectorTurn,
  cut,
  type MessageForm,
  type ReadText,
  type TurnOfLine,
} from "../transcripts/index.ts";
import type { Turn } from "../wire/turn.ts";

/** Searchable text of a turn: a hundred pages. */
export const maxTurnTextCharacters = 250_000;

const atTheStart: CollectorState = {
  turnIndex: -1,
  turnStart: -1,
  characters: 0,
  command: null,
  form: "responses",
  handedOver: -1,
};

/**
 * Collects the text of turns. A turn's pieces, joined by an empty line, are its `text`, up to {@link maxTurnTextCharacters}.
 * @param from the state of an earlier scan's collector
 */
export function createTextCollector(read: ReadText, from: CollectorState = atTheStart): TextCollector {
  const memory: CollectorMemory = { command: from.command, form: from.form, seenLines: new Set() };
  let { turnIndex, turnStart, characters, handedOver } = from;
  let collected: TurnText[] = [];

  function collect(piece: TurnText): void {
    const left = maxTurnTextCharacters - characters;
    const text = cut(piece.text, Math.max(0, left));
    characters += text.length;
    if (text !== "") collected.push({ ...piece, text });
  }

  function restartFrom(index: number): void {
    collected = collected.filter((piece) => piece.turnIndex < index);
    characters = 0;
    if (handedOver < index) return;
    handedOver = index - 1;
    collected.push({ turnIndex: index, role: "user", text: "", restarts: true });
  }

  /** @returns the number of turns that start with this line */
  function stepInto({ index, mark }: TurnOfLine): number {
    if (index === turnIndex && mark.start === turnStart) return 0;
    if (index <= turnIndex) restartFrom(index);
    const began = Math.max(1, index - turnIndex);
    turnIndex = index;
    turnStart = mark.start;
    characters = 0;
    memory.form = mark.before?.form ?? "responses";
    memory.seenLines.clear();
    return began;
  }

  function stand(turn: TurnOfLine): CollectorTurn {
    const { index, mark } = turn;
    const began = stepInto(turn);
    return {
      index,
      mark,
      began,
      begins: began > 0,
      say: (text) => collect({ turnIndex: index, role: mark.role, text }),
      sayBefore(text) {
        collect({ turnIndex: index - 1, role: "user", text });
        characters = 0;
      },
      restart: () => restartFrom(index),
    };
  }

  return {
    line: (bytes, turn) => read(bytes, memory, turn === null ? null : stand(turn)),
    take() {
      const taken = collected;
      collected = [];
      handedOver = Math.max(handedOver, taken.at(-1)?.turnIndex ?? -1);
      return taken;
    },
    state: () => ({ turnIndex, turnStart, characters, handedOver, command: memory.command, form: memory.form }),
  };
}

/** A piece of a turn's text. A turn can have several, in order. */
export interface TurnText {
  readonly turnIndex: number;
  readonly role: Turn["role"];
  /** Text of the user or the assistant, without tool calls, results or thinking. */
  readonly text: string;
  /** Discards earlier text of this and later turns. Rare: an older Codex writes a prompt in two forms. */
  readonly restarts?: true;
}

/** A collector's state, to continue with the same file later. JSON. */
export interface CollectorState {
  /** The last turn; -1 before the first. */
  readonly turnIndex: number;
  readonly turnStart: number;
  /** How many characters of that turn were collected. */
  readonly characters: number;
  /** A user's command, which becomes a turn if the model answers it. */
  readonly command: string | null;
  readonly form: MessageForm;
  /** The last turn whose text was passed on. */
  readonly handedOver: number;
}

/** Extracts text from a transcript's lines while they are scanned. One per scan. */
export interface TextCollector {
  /**
   * Takes each complete line that the indexer accepted, in order, with the current turn, if any. Cheap for lines without text. Never throws
   * because of a line's content.
   */
  line(bytes: Buffer, turn: TurnOfLine | null): void;
  /** Text since the last call. Call it at each pause of the scan, to bound memory. */
  take(): readonly TurnText[];
  state(): CollectorState;
}

/** The search index of titles and text, written in the caller's transaction. */
export interface TextIndex {
  /** Adds pieces of turns, in order. `isNew` skips looking for existing parts. */
  add(transcriptId: number, texts: readonly TurnText[], options?: { readonly isNew: boolean }): Promise<void>;
  /** Sets the title and first message to search. */
  setHead(
    transcriptId: number,
    head: { readonly title: string | null; readonly firstMessage: string | null },
    options?: { readonly isNew: boolean },
  ): Promise<void>;
  remove(transcriptId: number): Promise<void>;
}
