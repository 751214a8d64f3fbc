import type { Block, Turn } from "../wire/turn.ts";
import { cut, toolInput } from "./turn-parts.ts";

/** Parsed turns that no longer change. */
export interface TurnCache {
  get(key: string): Turn | undefined;
  put(key: string, turn: Turn): void;
  clear(): void;
}

/** Keeps at most `maxCharacters` of turns, and drops the least recently used first. */
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

/** Turns are immutable. */
const sizes = new WeakMap<Turn, number>();

/** The approximate number of characters in a turn. */
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

/** The newest turns of a response are complete up to this length. */
const wholeCharacters = 16_000_000;
/** Older turns have shortened tool calls up to this length, and are one line of text beyond it. */
const shortCharacters = 24_000_000;
const shortPartCharacters = 1_000;

/** Bounds an answer with many long turns. */
interface AnswerBudget {
  /** The turn, as much of it as fits. Pass the newest turn first. */
  fit(turn: Turn): Turn;
}

export function createAnswerBudget(): AnswerBudget {
  let characters = 0;
  return {
    fit(turn) {
      const size = sizeOfTurn(turn);
      // The newest turn has its own limit.
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

/** Keeps the images' types, without their data. */
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
  const note = `(${turn.blocks.length} blocks omitted: too much was requested at once)`;
  const text = cut(turn.text, shortPartCharacters);
  return { ...rest, text, blocks: [{ type: "text", text: text === "" ? note : `${text}… ${note}` }] };
}
