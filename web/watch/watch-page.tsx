import { Plus } from "lucide-react";
import { type KeyboardEvent as ReactKeyboardEvent, useEffect, useEffectEvent, useRef, useState } from "react";
import { useSearchParams } from "react-router";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { Page, usePageTitle } from "../ui/page.tsx";
import { SessionChooser, SessionPicker } from "./session-picker.tsx";
import {
  formatWatched,
  maxCells,
  neighbourOf,
  parseWatched,
  type Watched,
  withoutCell,
  withSession,
} from "./watch-address.ts";
import { WatchCell } from "./watch-cell.tsx";

/** Up to six live terminals side by side. */
export function WatchPage() {
  const [params, setParams] = useSearchParams();
  const watched = parseWatched(params);
  const show = (next: Watched): void => setParams(formatWatched(next), { replace: true });
  if (watched.cells.length > 0) return <Grid watched={watched} onChange={show} />;
  return (
    <Page title="Watch" narrow description="Live terminals side by side, up to six.">
      <SessionChooser onChoose={(cells) => show({ cells, full: null })} />
    </Page>
  );
}

const columnsOf: Readonly<Record<number, string>> = {
  1: "md:grid-cols-1",
  2: "md:grid-cols-2",
  3: "md:grid-cols-2 xl:grid-cols-3",
  4: "md:grid-cols-2",
  5: "md:grid-cols-2 xl:grid-cols-3",
  6: "md:grid-cols-2 xl:grid-cols-3",
};

function Grid({ watched, onChange }: { readonly watched: Watched; readonly onChange: (next: Watched) => void }) {
  const { cells, full } = watched;
  usePageTitle("Watch", { inHeader: true });
  const grid = useRef<HTMLDivElement>(null);
  /** The cell for which a session is being chosen; undefined for the next one. */
  const [choosing, setChoosing] = useState<{ readonly at?: number } | null>(null);
  const shown = new Set(cells.filter((sessionId) => sessionId !== null));

  const scrollTo = (at: number): HTMLElement | null => {
    const slot = grid.current?.children.item(at);
    if (!(slot instanceof HTMLElement)) return null;
    slot.scrollIntoView({ block: "nearest", inline: "center" });
    return slot;
  };
  const focus = (at: number): void => {
    const slot = scrollTo(at);
    if (slot === null) return;
    if (full !== null && full !== at) onChange({ ...watched, full: typeof cells[at] === "string" ? at : null });
    slot.querySelector<HTMLElement>("[data-watch-cell], [data-watch-empty]")?.focus();
  };
  /** Also from within a terminal. */
  const onKeyDownCapture = useEffectEvent((event: KeyboardEvent): void => {
    const digit = /^Digit([1-6])$/.exec(event.code)?.[1];
    if (digit === undefined || choosing !== null) return;
    const modified = event.ctrlKey !== event.altKey && !event.metaKey && !event.shiftKey;
    if (!modified && !(isPlain(event) && !isInput(event.target))) return;
    event.preventDefault();
    event.stopPropagation();
    focus(Number(digit) - 1);
  });
  const onArrow = (event: ReactKeyboardEvent): void => {
    const { target, key } = event;
    if (event.defaultPrevented || !isPlain(event) || !(target instanceof HTMLElement) || grid.current === null) return;
    if (!target.matches("[data-watch-cell], [data-watch-empty]")) return;
    const slot = target.closest("[data-slot]");
    const at = [...grid.current.children].findIndex((each) => each === slot);
    const columns = getComputedStyle(grid.current).gridTemplateColumns.split(" ").length;
    const next = neighbourOf(at, key, { columns, count: cells.length });
    if (next === at) return;
    event.preventDefault();
    focus(next);
  };
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => onKeyDownCapture(event);
    document.addEventListener("keydown", listen, { capture: true });
    return () => document.removeEventListener("keydown", listen, { capture: true });
  }, []);

  return (
    <div role="presentation" className="flex h-full flex-col" onKeyDown={onArrow}>
      <header className="flex h-11 shrink-0 items-center gap-3 border-b border-line px-3">
        <h1 className="text-sm font-semibold max-lg:sr-only">Watch</h1>
        <nav aria-label="Cells" className="flex min-w-0 gap-1 overflow-x-auto md:hidden">
          {cells.map((sessionId, at) => (
            <button
              key={sessionId ?? at}
              type="button"
              aria-label={`Show cell ${at + 1}`}
              onClick={() => focus(at)}
              className="size-9 shrink-0 rounded-md border border-line font-mono text-xs text-ink-soft"
            >
              {at + 1}
            </button>
          ))}
        </nav>
        <p className="ml-auto truncate text-xs text-ink-faint max-lg:hidden">
          Alt+1–6 or arrows: cell · Enter: type · Esc: leave · f: full screen
        </p>
        <Button
          size="sm"
          icon={Plus}
          className="max-lg:ml-auto"
          disabled={shown.size >= maxCells}
          onClick={() => setChoosing({})}
        >
          Add session
        </Button>
      </header>
      <div className="relative min-h-0 flex-1">
        <div
          ref={grid}
          className={classNames(
            "flex h-full snap-x snap-mandatory motion-safe:scroll-smooth gap-2 overflow-x-auto p-2 md:grid md:auto-rows-[minmax(15rem,1fr)] md:overflow-x-hidden md:overflow-y-auto",
            columnsOf[cells.length],
          )}
        >
          {cells.map((sessionId, at) => (
            <div
              key={sessionId ?? `empty ${at}`}
              data-slot={at + 1}
              className={classNames(
                "min-h-0 min-w-0 snap-center max-md:w-full max-md:shrink-0",
                full !== null && full !== at && "md:invisible",
              )}
            >
              {sessionId === null ? (
                <button
                  type="button"
                  data-watch-empty
                  onClick={() => setChoosing({ at })}
                  className="flex h-full w-full items-center justify-center gap-2 rounded-lg border border-dashed border-line-strong text-sm text-ink-soft hover:bg-hover"
                >
                  <Plus aria-hidden className="size-4" /> Add session
                </button>
              ) : (
                <WatchCell
                  number={at + 1}
                  sessionId={sessionId}
                  full={full === at}
                  onFull={(next) => onChange({ ...watched, full: next ? at : null })}
                  onReplace={() => setChoosing({ at })}
                  onSwipe={(by) => scrollTo(at + by)}
                  onClose={() => onChange(withoutCell(watched, at))}
                />
              )}
            </div>
          ))}
        </div>
      </div>
      {choosing !== null && (
        <SessionPicker
          title={choosing.at === undefined ? "Add session" : `Session for cell ${choosing.at + 1}`}
          shown={shown}
          onClose={() => setChoosing(null)}
          onChoose={(sessionId) => {
            setChoosing(null);
            onChange(withSession(watched, sessionId, choosing.at));
          }}
        />
      )}
    </div>
  );
}

function isPlain(event: Pick<KeyboardEvent, "ctrlKey" | "altKey" | "metaKey" | "shiftKey">): boolean {
  return !event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey;
}

function isInput(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("input, textarea, select, [contenteditable]");
}
