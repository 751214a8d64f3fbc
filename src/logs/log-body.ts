import type { Block, Turn } from "../wire/turn.ts";
import { mask, maskSecrets, namesSecret } from "./mask-secrets.ts";
import { cut, plainText, withoutInjected } from "./plain-text.ts";
import type { LogBody } from "./rules.ts";

/** Enough of a tool's result to see how it ended. */
const maxResultCharacters = 2_000;
/** Enough of each string in a tool's input for a command, a path or the start of a file. */
const maxInputCharacters = 4_000;
/** Text beyond this is cut off, so it need not be masked. */
const maskedAhead = 2_000;
const maxInputDepth = 16;
const maxInputMembers = 200;
const maxModelCharacters = 200;
const maxTimeCharacters = 40;
const maxTextCharacters = 250_000;

/** Prepares text or turns for storage: masks secrets, removes injected context, cuts long results and inputs. */
export function bodyOf(given: { readonly content: string } | { readonly turns: readonly Turn[] }): LogBody {
  if ("content" in given) return { form: "text", text: maskSecrets(plainText(given.content)) };
  return { form: "turns", turns: given.turns.map(keptTurn) };
}

/** Masks and cuts a short text. */
export function maskedText(text: string, limit: number): string {
  return cut(maskSecrets(plainText(cut(text, limit + maskedAhead))), limit);
}

function keptTurn(turn: Turn): Turn {
  const blocks = turn.blocks.flatMap(keptBlock);
  const texts = blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const { index, role, at, endedAt, model } = turn;
  return {
    index,
    role,
    at: keptTime(at),
    endedAt: keptTime(endedAt),
    text: texts.join("\n\n"),
    blocks,
    model: model === null ? null : maskedText(model, maxModelCharacters),
    usage: null,
  };
}

/** A time in ISO format; null if invalid. */
function keptTime(given: string | null): string | null {
  const time = given === null || given.length > maxTimeCharacters ? Number.NaN : Date.parse(given);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

/** Thinking is not kept. */
function keptBlock(block: Block): readonly Block[] {
  if (block.type === "thinking") return [];
  if (block.type === "text") {
    const text = withoutInjected(maskedText(block.text, maxTextCharacters)).trim();
    return text === "" ? [] : [{ type: "text", text }];
  }
  const result = block.result === null ? null : keptResult(block.result);
  const name = maskedText(block.name, 200);
  return [{ type: "tool_call", id: maskedText(block.id, 200), name, input: keptInput(block.input, 0), result }];
}

function keptResult({ ok, text, truncated }: NonNullable<Extract<Block, { type: "tool_call" }>["result"]>) {
  const kept = withoutInjected(maskedText(text, maxResultCharacters));
  return { ok, text: kept, truncated: truncated || text.length > maxResultCharacters };
}

function keptInput(value: unknown, depth: number): unknown {
  if (typeof value === "string") return maskedText(value, maxInputCharacters);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= maxInputDepth) return null;
  if (Array.isArray(value)) return value.slice(0, maxInputMembers).map((member) => keptInput(member, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, maxInputMembers)
      .map(([name, member]) => [maskedText(name, 200), namesSecret(name) ? mask : keptInput(member, depth + 1)]),
  );
}
