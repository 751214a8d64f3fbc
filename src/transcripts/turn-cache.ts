import type { Block, Turn } from "../wire/turn.ts";
import { cut, toolInput } from "./turn-parts.ts";

/** Turns that will not change any more, kept parsed so that reading them again costs nothing. */
export interface TurnCache {
  get(key: string): Turn | undefined;
  put(key: string, turn: Turn): void;
  clear(): void;
}

/** Keeps at most `maxCharacters` of turns; the ones that were used longest ago go first. */
export function createTurnCache(maxCharacters: number): TurnCache {
  const kept = new Map<string, { readonly turn: Turn; readonly characters: number }>();
  let characters = 0;

  function drop(key: string): void {
    characters -= kept.get(key)?.characters ?? 0;
    kept.delete(key);
  }

  return {
    get(key) {
      const found = kept.get(key);
      if (found === undefined) return undefined;
      kept.delete(key);
      kept.set(key, found);
      return found.turn;
    },
    put(key, turn) {
      drop(key);
      const size = sizeOfTurn(turn);
      if (size > maxCharacters / 4) return;
      kept.set(key, { turn, characters: size });
      characters += size;
      for (const oldest of kept.keys()) {
        if (characters <= maxCharacters) break;
        drop(oldest);
      }
    },
    clear() {
      kept.clear();
      characters = 0;
    },
  };
}

/** Turns are never changed, and the same ones are read again and again. */
const sizes = new WeakMap<Turn, number>();

/** About how many characters a turn holds. */
export function sizeOfTurn(turn: Turn): number {
  const known = sizes.get(turn);
  if (known !== undefined) return known;
  let size = 500 + turn.text.length;
  for (const { data } of turn.images ?? []) size += 100 + (data?.length ?? 0);
  for (const block of turn.blocks) {
    size += 100;
    if (block.type !== "tool_call") size += block.text.length;
    else size += (JSON.stringify(block.input)?.length ?? 0) + (block.result?.text.length ?? 0);
  }
  sizes.set(turn, size);
  return size;
}

/** The newest turns of an answer are whole up to here. */
const wholeCharacters = 16_000_000;
/** Then what tools took and gave is shown by its beginning, up to here; what is older still is a line of text. */
const shortCharacters = 24_000_000;
const shortPartCharacters = 1_000;

/** Keeps an answer of many long turns within bounds: it would fill the memory of who makes it, and of who gets it. */
interface AnswerBudget {
  /** The turn, as much of it as there is room for. Give the newest turn first. */
  fit(turn: Turn): Turn;
}

/** A budget for one answer. */
export function createAnswerBudget(): AnswerBudget {
  let characters = 0;
  return {
    fit(turn) {
      const size = sizeOfTurn(turn);
      // The newest turn has a limit of its own.
      if (characters === 0 || characters + size <= wholeCharacters) {
        characters += size;
        return turn;
      }
      const short = { ...withoutData(turn), blocks: turn.blocks.map(shortened) };
      const shortSize = sizeOfTurn(short);
      if (characters + shortSize <= shortCharacters) {
        characters += shortSize;
        return short;
      }
      return asOneLine(turn);
    },
  };
}

/** That there were pictures, without them. */
function withoutData(turn: Turn): Turn {
  return turn.images === undefined ? turn : { ...turn, images: turn.images.map((image) => ({ ...image, data: null })) };
}

function shortened(block: Block): Block {
  if (block.type !== "tool_call") return block;
  const { input, result } = block;
  const text = cut(result?.text ?? "", shortPartCharacters);
  return {
    ...block,
    input: toolInput(input, { maxCharacters: shortPartCharacters }),
    result:
      result === null ? null : { ...result, text, truncated: result.truncated || text.length < result.text.length },
  };
}

function asOneLine(turn: Turn): Turn {
  const { images: _left, ...rest } = turn;
  const note = `(${turn.blocks.length} blocks are left out: too much was asked for at once)`;
  const text = cut(turn.text, shortPartCharacters);
  return { ...rest, text, blocks: [{ type: "text", text: text === "" ? note : `${text}… ${note}` }] };
}
