import {
  type CollectorMemory,
  type CollectorTurn,
  cut,
  type MessageForm,
  type ReadText,
  type TurnOfLine,
} from "../transcripts/index.ts";
import type { Turn } from "../wire/turn.ts";

/** Of a turn's text so much can be found: a hundred pages. What comes after is cut. */
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
 * Collects what was said: each turn's pieces, joined by an empty line, are the `text` of the turn as it is read, up to
 * {@link maxTurnTextCharacters}.
 *
 * @param from where the collector of an earlier scan of the file stood
 */
export function createTextCollector(read: ReadText, from: CollectorState = atTheStart): TextCollector {
  const memory: CollectorMemory = { command: from.command, form: from.form, seenLines: new Set() };
  let { turnIndex, turnStart, characters, handedOver } = from;
  let collected: TurnText[] = [];

  function say(piece: TurnText): void {
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

  /** @returns how many turns begin with this line */
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
      say: (text) => say({ turnIndex: index, role: mark.role, text }),
      sayBefore(text) {
        say({ turnIndex: index - 1, role: "user", text });
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
