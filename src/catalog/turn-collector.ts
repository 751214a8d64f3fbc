import type { CollectorMemory, CollectorTurn, ReadText, TurnOfLine } from "../transcripts/index.ts";
import { cut } from "../transcripts/index.ts";
import type { CollectorState, TextCollector, TurnText } from "./turn-text.ts";

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
