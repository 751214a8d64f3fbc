import { ArrowDown } from "lucide-react";
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import type { Turn } from "../../src/wire/turn.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/notice.tsx";
import { Scrollable } from "../ui/page.tsx";
import { agentName, isLive } from "../ui/session-state.ts";
import { counted } from "./session-words.ts";
import { TurnView } from "./turn-view.tsx";
import { scrollToTurn, type TurnTarget } from "./use-jumps.ts";
import { hasOlder, type TurnStore } from "./use-session.ts";
import { Working } from "./working.tsx";

/** Within this distance, the position counts as the end. */
const nearPx = 60;

/** The conversation, scrolled to its end until the user scrolls up. Older turns load while scrolling. */
export function TurnList(props: {
  readonly list: RefObject<HTMLDivElement | null>;
  /** The id of the page's address. */
  readonly sessionId: string;
  /** The turn to show. */
  readonly target: TurnTarget | null;
  readonly store: TurnStore;
  readonly summary: SessionSummary;
  readonly skippedLines: number;
  readonly loadingOlder: boolean;
  readonly onOlder: () => void;
  /** The position of the recording in milliseconds; null while none is playing. */
  readonly playedAt: number | null;
  readonly onPlay: ((at: string) => void) | undefined;
}) {
  const { list, sessionId, target, store, summary, skippedLines, loadingOlder, onOlder, playedAt, onPlay } = props;
  const { turns } = store;
  const { atEnd, toEnd, release } = useStickToEnd(list, turns, { enabled: playedAt === null });
  useShownTurn(list, { target, turns, release });
  const top = useOlderOnSight(list, { enabled: hasOlder(store) && !loadingOlder, onOlder });
  const current = playedAt === null ? -1 : turnAt(turns, playedAt);
  useEffect(() => {
    if (current !== -1) list.current?.querySelector(`[data-turn="${current}"]`)?.scrollIntoView({ block: "nearest" });
  }, [list, current]);
  const agent = agentName(summary.agent);
  const newest = turns.at(-1)?.index;
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <Scrollable
        ref={list}
        role="log"
        label="Conversation"
        className="min-h-0 flex-1 overflow-y-auto overscroll-contain pb-4"
      >
        <div ref={top} className="py-2 text-center">
          {hasOlder(store) && (
            <Button size="sm" variant="ghost" busy={loadingOlder} onClick={onOlder}>
              Older turns
            </Button>
          )}
        </div>
        {skippedLines > 0 && (
          <p className="px-4 pb-2 text-2xs text-ink-faint">
            {counted(skippedLines, "line")} of the transcript could not be read.
          </p>
        )}
        {turns.length === 0 && <NoTurns summary={summary} />}
        <div>
          {turns.map((turn) => (
            <TurnView
              key={turn.index}
              turn={turn}
              agent={agent}
              running={turn.index === newest && isLive(summary) && summary.activity !== "idle"}
              current={turn.index === current || turn.index === target?.index}
              sessionId={sessionId}
              onPlay={onPlay}
            />
          ))}
        </div>
        {summary.activity === "working" && <Working agent={agent} turns={turns} />}
      </Scrollable>
      {!atEnd && (
        <Button
          size="sm"
          icon={ArrowDown}
          onClick={toEnd}
          className="absolute bottom-3 left-1/2 -translate-x-1/2 shadow-float"
        >
          Jump to latest
        </Button>
      )}
    </div>
  );
}

function NoTurns({ summary }: { readonly summary: SessionSummary }) {
  const live = summary.status === "running" || summary.status === "initializing";
  return (
    <EmptyState title="No messages yet">
      {live ? "Write a prompt below, or type into the terminal." : "The agent did not write a transcript."}
    </EmptyState>
  );
}

function turnAt(turns: readonly Turn[], atMs: number): number {
  return turns.findLast(({ at }) => at !== null && Date.parse(at) <= atMs)?.index ?? -1;
}

/** Sticks to the end while the user is there, and keeps the position while older turns load. */
function useStickToEnd(
  list: RefObject<HTMLDivElement | null>,
  turns: readonly Turn[],
  { enabled }: { readonly enabled: boolean },
) {
  const [atEnd, setAtEnd] = useState(true);
  const sticking = useRef(true);
  const before = useRef({ first: -1, height: 0 });
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return;
    const first = turns[0]?.index ?? -1;
    const grewAbove = before.current.first > first && first !== -1;
    if (grewAbove) element.scrollBy({ top: element.scrollHeight - before.current.height });
    else if (sticking.current && enabled) element.scrollTo({ top: element.scrollHeight });
    before.current = { first, height: element.scrollHeight };
  }, [list, turns, enabled]);
  useEffect(() => {
    const element = list.current;
    if (element === null) return;
    const look = (): void => {
      const near = element.scrollHeight - element.scrollTop - element.clientHeight < nearPx;
      sticking.current = near;
      setAtEnd(near);
    };
    element.addEventListener("scroll", look, { passive: true });
    // Highlighting, rendering and window size change heights too.
    const observer = new ResizeObserver(() => {
      if (sticking.current && enabled) element.scrollTo({ top: element.scrollHeight });
    });
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    return () => {
      element.removeEventListener("scroll", look);
      observer.disconnect();
    };
  }, [list, enabled]);
  const toEnd = (): void => {
    sticking.current = true;
    list.current?.scrollTo({ top: list.current.scrollHeight });
  };
  const release = useCallback((): void => {
    sticking.current = false;
  }, []);
  return { atEnd, toEnd, release };
}

/** Scrolls to each new target, once it is loaded. */
function useShownTurn(
  list: RefObject<HTMLDivElement | null>,
  {
    target,
    turns,
    release,
  }: { readonly target: TurnTarget | null; readonly turns: readonly Turn[]; readonly release: () => void },
): void {
  const shown = useRef(0);
  const isLoaded = turns.some(({ index }) => index === target?.index);
  useLayoutEffect(() => {
    const element = list.current;
    if (!isLoaded) return;
    const turn = target === null ? null : element?.querySelector(`[data-turn="${target.index}"]`);
    if (target === null || element === null || turn == null || shown.current === target.nth) return;
    shown.current = target.nth;
    release();
    scrollToTurn(element, turn);
  }, [list, target, isLoaded, release]);
}

function useOlderOnSight(
  list: RefObject<HTMLDivElement | null>,
  { enabled, onOlder }: { readonly enabled: boolean; readonly onOlder: () => void },
) {
  const top = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!enabled || top.current === null) return;
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && onOlder(), {
      root: list.current,
      rootMargin: "600px 0px 0px 0px",
    });
    observer.observe(top.current);
    return () => observer.disconnect();
  }, [list, enabled, onOlder]);
  return top;
}
