import { ArrowDown, ArrowUp, X } from "lucide-react";
import { createContext, type RefObject, useEffect, useRef, useState } from "react";
import { turnSearchSchema } from "../../src/wire/turn-search.ts";
import { reading } from "../api/client.ts";
import { useRead } from "../api/query.ts";
import { IconButton } from "../ui/button.tsx";
import { useSettled } from "../ui/field.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import type { Jumps } from "./use-jumps.ts";

/** The search text, in lower case; empty without a search. Tool calls that contain it are open. */
export const SearchedText = createContext("");

const typingMs = 250;
const maxQueryLength = 200;

/** Searches the whole conversation on the gateway, and moves from turn to turn. */
export function TurnSearch(props: {
  readonly sessionId: string;
  /** Changes when the conversation grows. */
  readonly turnCount: number;
  readonly list: RefObject<HTMLElement | null>;
  readonly jumps: Jumps;
  readonly onQuery: (query: string) => void;
  readonly onClose: () => void;
}) {
  const { sessionId, turnCount, list, jumps, onQuery, onClose } = props;
  const { goTo, from } = jumps;
  const [text, setText] = useState("");
  const query = useSettled(text.trim(), typingMs);
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const found = useRead(
    ["session", sessionId, "search", query, turnCount],
    ({ signal }) => reading.searchTurns({ sessionId, q: query }, { signal, output: turnSearchSchema }),
    { enabled: query !== "", staleTime: 60_000 },
  );
  const matches = query === "" ? undefined : found.data?.matches;
  useEffect(() => field.current?.focus(), []);
  useEffect(() => onQuery(query.toLowerCase()), [query, onQuery]);
  useEffect(() => () => onQuery(""), [onQuery]);

  // The first match from here on, once for each query.
  const shownFor = useRef("");
  useEffect(() => {
    const [first] = matches ?? [];
    if (matches === undefined || first === undefined || shownFor.current === query) return;
    shownFor.current = query;
    const here = from();
    const next = Math.max(
      0,
      matches.findIndex(({ index }) => index >= here),
    );
    setAt(next);
    goTo(matches[next]?.index ?? first.index);
  }, [matches, query, goTo, from]);
  useHighlight(list, { query: query.toLowerCase(), current: matches?.[at]?.index ?? -1 });

  const step = (by: 1 | -1): void => {
    if (matches === undefined || matches.length === 0) return;
    const next = (at + by + matches.length) % matches.length;
    setAt(next);
    const match = matches[next];
    if (match !== undefined) goTo(match.index);
  };
  const many = matches?.length ?? 0;
  return (
    <search className="flex shrink-0 flex-col border-b border-line bg-panel">
      <div className="flex items-center gap-1 px-2 py-1">
        <input
          ref={field}
          type="text"
          role="searchbox"
          aria-label="Search this conversation"
          placeholder="Search this conversation"
          value={text}
          maxLength={maxQueryLength}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
            else if (event.key === "Escape") onClose();
            else return;
            event.preventDefault();
          }}
          className="h-8 min-w-0 flex-1 rounded-md border border-line bg-raised px-2.5 text-sm placeholder:text-ink-faint pointer-coarse:h-10"
        />
        <span role="status" className="shrink-0 px-1 text-xs whitespace-nowrap text-ink-faint">
          {matches === undefined ? (found.isFetching ? "Searching…" : "") : words(at, many, found.data?.truncated)}
        </span>
        <IconButton label="Previous match" icon={ArrowUp} disabled={many === 0} onClick={() => step(-1)} />
        <IconButton label="Next match" icon={ArrowDown} disabled={many === 0} onClick={() => step(1)} />
        <IconButton label="Close search" icon={X} onClick={onClose} />
      </div>
      <ErrorNotice error={found.error} className="px-2 pb-2" />
    </search>
  );
}

function words(at: number, many: number, truncated = false): string {
  if (many === 0) return "No matches";
  return `${at + 1} of ${many}${truncated ? "+" : ""} ${many === 1 ? "turn" : "turns"}`;
}

/** The maximum number of ranges in one list. More would slow down scrolling. */
const maxRanges = 2_000;
const all = "postern-search";
const here = "postern-search-here";

/** Highlights the text in all visible content, without changing the elements. */
function useHighlight(
  list: RefObject<HTMLElement | null>,
  { query, current }: { readonly query: string; readonly current: number },
): void {
  useEffect(() => {
    const element = list.current;
    // Older browsers can search, but do not highlight.
    if (element === null || query === "" || !("highlights" in CSS)) return;
    let frame = 0;
    const mark = (): void => {
      const ranges = rangesOf(element, query);
      const isHere = ({ startContainer }: Range): boolean =>
        startContainer.parentElement?.closest(`[data-turn="${current}"]`) != null;
      CSS.highlights.set(all, new Highlight(...ranges.filter((range) => !isHere(range))));
      CSS.highlights.set(here, new Highlight(...ranges.filter(isHere)));
    };
    const soon = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(mark);
    };
    const observer = new MutationObserver(soon);
    observer.observe(element, { childList: true, subtree: true, characterData: true });
    soon();
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights.delete(all);
      CSS.highlights.delete(here);
    };
  }, [list, query, current]);
}

function rangesOf(element: HTMLElement, query: string): readonly Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null && ranges.length < maxRanges; node = walker.nextNode()) {
    const text = (node.textContent ?? "").toLowerCase();
    for (let at = text.indexOf(query); at !== -1; at = text.indexOf(query, at + query.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + query.length, node.textContent?.length ?? 0));
      ranges.push(range);
    }
  }
  return ranges;
}
