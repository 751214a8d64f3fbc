import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import type { Turn } from "../../src/wire/turn.ts";
import { nextTurnSchema, type TurnMark } from "../../src/wire/turn-search.ts";
import { reading } from "../api/client.ts";
import { useAct } from "../api/query.ts";

/** A turn to scroll to. Each request has its own number. */
export interface TurnTarget {
  readonly index: number;
  readonly nth: number;
}

export interface Jumps {
  readonly target: TurnTarget | null;
  /** Loads the turn if necessary, and shows it. */
  readonly goTo: (index: number) => void;
  readonly jump: (mark: TurnMark, direction: "next" | "previous") => void;
  /** The turn from which jumps and searches begin. */
  readonly from: () => number;
  /** The message to show if there is no such turn. */
  readonly note: string | null;
  readonly error: Error | null;
}

/** Distance of a shown turn from the top of the list. */
export const turnMarginPx = 8;
const noteMs = 2_500;

/** Jumps within a conversation, also to turns that are not loaded. */
export function useJumps(
  sessionId: string,
  {
    list,
    turns,
    onLoad,
  }: {
    readonly list: RefObject<HTMLElement | null>;
    readonly turns: readonly Turn[];
    readonly onLoad: (index: number) => Promise<void>;
  },
): Jumps {
  const [target, setTarget] = useState<TurnTarget | null>(null);
  const [note, setNote] = useState<string | null>(null);
  const last = useRef<number | null>(null);

  const going = useAct({
    mutationFn: async (index: number) => {
      await onLoad(index);
      setTarget((before) => ({ index, nth: (before?.nth ?? 0) + 1 }));
      last.current = index;
    },
  });
  const goTo = going.mutate;
  const from = useCallback((): number => {
    // A turn near the end of the list cannot scroll to the top, so the last jump's turn may be lower.
    if (last.current !== null && list.current !== null && isInSight(list.current, last.current)) return last.current;
    return turnAtTop(list.current);
  }, [list]);

  const asking = useAct({
    mutationFn: async ({ mark, direction }: { readonly mark: TurnMark; readonly direction: "next" | "previous" }) => {
      const begin = from();
      const found = loaded(turns, { mark, direction, begin });
      if (found !== null) return { index: found, mark, direction };
      // All newer turns are loaded.
      const [oldest] = turns;
      if (direction === "next" || oldest === undefined || oldest.index === 0) return { index: null, mark, direction };
      const query = { sessionId, mark, direction, from: Math.min(begin, oldest.index) };
      const { index } = await reading.nextTurn(query, { output: nextTurnSchema });
      return { index, mark, direction };
    },
    onSuccess: ({ index, mark, direction }) => {
      if (index === null) setNote(`No ${direction} ${mark}`);
      else goTo(index);
    },
  });
  const { mutate } = asking;
  const jump = useCallback((mark: TurnMark, direction: "next" | "previous") => mutate({ mark, direction }), [mutate]);

  useEffect(() => {
    if (note === null) return;
    const timer = setTimeout(() => setNote(null), noteMs);
    return () => clearTimeout(timer);
  }, [note]);

  // Follows a link to a turn, on load and when the address changes.
  const isReady = turns.length > 0;
  useEffect(() => {
    if (!isReady) return;
    const follow = (): void => {
      const [, index] = /^#turn-(\d{1,9})$/.exec(window.location.hash) ?? [];
      if (index !== undefined) goTo(Number(index));
    };
    follow();
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, [isReady, goTo]);

  return { target, goTo, jump, from, note, error: asking.error ?? going.error };
}

function loaded(
  turns: readonly Turn[],
  {
    mark,
    direction,
    begin,
  }: { readonly mark: TurnMark; readonly direction: "next" | "previous"; readonly begin: number },
): number | null {
  const found =
    direction === "next"
      ? turns.find((turn) => turn.index > begin && has(turn, mark))
      : turns.findLast((turn) => turn.index < begin && has(turn, mark));
  return found?.index ?? null;
}

function has(turn: Turn, mark: TurnMark): boolean {
  if (mark === "prompt") return turn.role === "user";
  return (
    turn.interrupted === true || turn.blocks.some((block) => block.type === "tool_call" && block.result?.ok === false)
  );
}

/** The index of the first turn in sight; -1 without turns. */
function turnAtTop(list: HTMLElement | null): number {
  if (list === null) return -1;
  const top = list.getBoundingClientRect().top + turnMarginPx + 4;
  for (const turn of list.querySelectorAll<HTMLElement>("[data-turn]")) {
    if (turn.getBoundingClientRect().bottom > top) return Number(turn.dataset["turn"]);
  }
  return -1;
}

/** Whether a turn begins in sight. */
function isInSight(list: HTMLElement, index: number): boolean {
  const turn = list.querySelector(`[data-turn="${index}"]`);
  if (turn === null) return false;
  const { top, bottom } = list.getBoundingClientRect();
  const begin = turn.getBoundingClientRect().top;
  return begin >= top - 1 && begin < bottom;
}

/**
 * Scrolls until the turn is at the top: heights of turns that were never in sight are estimates, and change on the way. Ends when the user
 * scrolls.
 */
export function scrollToTurn(list: HTMLElement, turn: Element): void {
  const events = ["wheel", "touchmove", "keydown", "pointerdown"] as const;
  let stopped = false;
  let calmFrames = 0;
  let frames = 0;
  const stop = (): void => {
    stopped = true;
    for (const event of events) list.removeEventListener(event, stop);
  };
  for (const event of events) list.addEventListener(event, stop, { passive: true });
  const step = (): void => {
    if (stopped) return;
    const offPx = turn.getBoundingClientRect().top - list.getBoundingClientRect().top - turnMarginPx;
    const before = list.scrollTop;
    if (Math.abs(offPx) > 1) list.scrollTop += offPx;
    calmFrames = list.scrollTop === before ? calmFrames + 1 : 0;
    frames += 1;
    if (calmFrames < maxCalmFrames && frames < maxFrames) requestAnimationFrame(step);
    else stop();
  };
  step();
}

/** Enough for the turns in sight to be laid out. */
const maxCalmFrames = 6;
/** One or two seconds. */
const maxFrames = 90;
