import type { Turn } from "../../src/wire/turn.ts";

/** The turns that a page has, without a gap, and where to go on. */
export interface TurnStore {
  readonly turns: readonly Turn[];
  /** Given as `after` to get what comes next. */
  readonly nextAfter: number;
}

export const noTurns: TurnStore = { turns: [], nextAfter: -1 };

/** Whether there are turns before those that the page has. */
export function hasOlder({ turns }: TurnStore): boolean {
  return (turns[0]?.index ?? 0) > 0;
}

/**
 * What the page has after an answer with turns. Turns that it has already are replaced where they have changed, and stay the same objects
 * where they have not. Newer turns that do not follow those that are there replace them all: so much was missed.
 */
export function withTurns(
  store: TurnStore,
  answer: { readonly turns: readonly Turn[]; readonly nextAfter: number },
): TurnStore {
  const [first] = answer.turns;
  const last = answer.turns.at(-1);
  const [oldest] = store.turns;
  const newest = store.turns.at(-1);
  const nextAfter = Math.max(store.nextAfter, answer.nextAfter);
  if (first === undefined || last === undefined) return nextAfter === store.nextAfter ? store : { ...store, nextAfter };
  if (oldest === undefined || newest === undefined) return { turns: answer.turns, nextAfter: answer.nextAfter };
  if (first.index > newest.index + 1) return { turns: answer.turns, nextAfter: answer.nextAfter };
  if (last.index < oldest.index - 1) return store;
  const fresh = new Map(answer.turns.map((turn) => [turn.index, turn]));
  const turns = [
    ...answer.turns.filter(({ index }) => index < oldest.index),
    ...store.turns.map((turn) => changed(turn, fresh.get(turn.index))),
    ...answer.turns.filter(({ index }) => index > newest.index),
  ];
  const same = turns.length === store.turns.length && turns.every((turn, at) => turn === store.turns[at]);
  if (same && nextAfter === store.nextAfter) return store;
  return { turns: same ? store.turns : turns, nextAfter };
}

function changed(before: Turn, now: Turn | undefined): Turn {
  return now === undefined || JSON.stringify(now) === JSON.stringify(before) ? before : now;
}
