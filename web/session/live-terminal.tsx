import { ChevronDown, ChevronUp, X } from "lucide-react";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import type { TerminalMode } from "../../src/wire/terminal.ts";
import { usePreferences } from "../app/preferences.ts";
import { IconButton } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { useNarrow } from "../ui/page.tsx";
import { KeyRow } from "./key-row.tsx";
import type { ConnectionState } from "./terminal-protocol.ts";
import { openTerminalSession, type TerminalSession } from "./terminal-session.ts";
import { TerminalBar, TerminalNotice } from "./terminal-status.tsx";

/** How long a note about discarded input stays. */
const refusedMs = 3_000;

/** A live terminal with its bar, search and, on a phone, keys. Another session or mode needs another `key`. */
export function LiveTerminal(props: {
  readonly sessionId: string;
  readonly mode: TerminalMode | undefined;
  readonly className?: string | undefined;
  /** There are no other viewers, so a phone can set the size too, and the page shows how the program ended. */
  readonly alone?: boolean | undefined;
  readonly onState?: ((state: ConnectionState) => void) | undefined;
  readonly onLinks?: ((links: readonly string[]) => void) | undefined;
  /** Reconnects after the connection was given up. */
  readonly onReopen: () => void;
}) {
  const { sessionId, mode, className, alone = false, onState, onLinks, onReopen } = props;
  const place = useRef<HTMLDivElement>(null);
  const session = useRef<TerminalSession | null>(null);
  const ctrl = useRef(false);
  const [ctrlHeld, setCtrlHeld] = useState(false);
  const [state, setState] = useState<ConnectionState>({ kind: "connecting", again: false });
  const [size, setSize] = useState<{ readonly cols: number; readonly rows: number } | null>(null);
  const [matches, setMatches] = useState({ index: 0, count: 0 });
  const [finding, setFinding] = useState(false);
  const [refused, setRefused] = useState(0);
  const narrow = useNarrow();
  const { terminalFontPx, terminalScreenReader: screenReader } = usePreferences();
  const look = { fontPx: terminalFontPx, screenReader };

  const holdCtrl = (held: boolean): void => {
    ctrl.current = held;
    setCtrlHeld(held);
  };
  const become = useEffectEvent((next: ConnectionState) => {
    setState(next);
    onState?.(next);
  });
  const open = useEffectEvent((element: HTMLElement) =>
    openTerminalSession(element, {
      sessionId,
      mode,
      label: "Terminal. Press F6 to leave it.",
      look,
      // A phone does not resize a desktop's terminal.
      sizing: alone || !narrow,
      shrink: narrow ? "width" : "both",
      onState: (next) => become(next),
      onSize: setSize,
      onRefused: () => setRefused(Date.now()),
      onFind: () => setFinding(true),
      onLeave: () => leave(element),
      onMatches: setMatches,
      onLinks,
      takeCtrl: () => {
        const held = ctrl.current;
        if (held) holdCtrl(false);
        return held;
      },
    }),
  );

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const opened = open(element);
    session.current = opened;
    const observer = new ResizeObserver(() => opened.layOut());
    observer.observe(element);
    const retry = (): void => {
      if (document.visibilityState === "visible") opened.retryNow();
    };
    window.addEventListener("online", retry);
    document.addEventListener("visibilitychange", retry);
    return () => {
      observer.disconnect();
      window.removeEventListener("online", retry);
      document.removeEventListener("visibilitychange", retry);
      session.current = null;
      opened.close();
    };
  }, []);

  useEffect(() => {
    session.current?.setLook({ fontPx: terminalFontPx, screenReader });
  }, [terminalFontPx, screenReader]);

  useEffect(() => {
    if (refused === 0) return;
    const timer = setTimeout(() => setRefused(0), refusedMs);
    return () => clearTimeout(timer);
  }, [refused]);

  const closeFind = (): void => {
    setFinding(false);
    session.current?.endFind();
    session.current?.focus();
  };

  return (
    <section aria-label="Terminal" className={classNames("flex min-h-0 min-w-0 flex-col bg-well", className)}>
      <TerminalBar
        state={state}
        size={size}
        onFind={() => setFinding(true)}
        onTakeSize={() => session.current?.takeSize()}
      />
      <div className="relative min-h-0 flex-1">
        <div ref={place} className="terminal-place absolute inset-0 overflow-auto pt-1.5 pl-2" />
        {finding && (
          <TerminalFind
            matches={matches}
            onFind={(text, direction) => session.current?.find(text, direction)}
            onClose={closeFind}
          />
        )}
        <TerminalNotice
          state={state}
          showsEnd={mode !== "observe" && !alone}
          refused={refused !== 0}
          onRetry={() => (state.kind === "waiting" ? session.current?.retryNow() : onReopen())}
        />
      </div>
      {state.kind === "live" && state.mode === "drive" && (
        <KeyRow
          ctrlHeld={ctrlHeld}
          onCtrl={() => holdCtrl(!ctrl.current)}
          onKey={(key) => session.current?.press(key)}
          onPaste={(text) => session.current?.paste(text)}
        />
      )}
    </section>
  );
}

/** Focuses what follows the terminal: the prompt box, or else the bar. */
function leave(element: HTMLElement): void {
  const pane = element.closest("section");
  const next =
    document.querySelector<HTMLElement>("[data-after-terminal]") ?? pane?.querySelector<HTMLElement>("button") ?? null;
  next?.focus();
}

function TerminalFind(props: {
  readonly matches: { readonly index: number; readonly count: number };
  readonly onFind: (text: string, direction: "next" | "previous") => void;
  readonly onClose: () => void;
}) {
  const { matches, onFind, onClose } = props;
  const [text, setText] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const found = text === "" ? "" : matches.count === 0 ? "None" : `${matches.index} of ${matches.count}`;
  return (
    <search className="absolute top-2 right-4 z-10 flex items-center gap-1 rounded-lg border border-line bg-raised p-1 pl-2 shadow-float">
      <input
        ref={input}
        type="text"
        aria-label="Search the terminal"
        placeholder="Search"
        autoComplete="off"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          onFind(event.target.value, "next");
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
          if (event.key === "Enter") onFind(text, event.shiftKey ? "previous" : "next");
        }}
        className="h-7 w-36 rounded border border-line bg-panel px-2 text-xs"
      />
      <span role="status" className="w-16 text-center text-2xs text-ink-faint">
        {found}
      </span>
      <IconButton label="Previous match" icon={ChevronUp} onClick={() => onFind(text, "previous")} />
      <IconButton label="Next match" icon={ChevronDown} onClick={() => onFind(text, "next")} />
      <IconButton label="Close search" icon={X} onClick={onClose} />
    </search>
  );
}
