import type { Turn } from "../wire/turn.ts";

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
