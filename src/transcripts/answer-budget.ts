import type { Block, Turn } from "../wire/turn.ts";
import { sizeOfTurn } from "./turn-cache.ts";
import { cut, toolInput } from "./turn-parts.ts";

/** The newest turns of an answer are whole up to here. */
const wholeCharacters = 16_000_000;
/** Then what tools took and gave is shown by its beginning, up to here; what is older still is a line of text. */
const shortCharacters = 24_000_000;
const shortPartCharacters = 1_000;

/** Keeps an answer of many long turns within bounds: it would fill the memory of who makes it, and of who gets it. */
export interface AnswerBudget {
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
