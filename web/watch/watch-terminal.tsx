import { type Ref, type RefObject, useEffect, useEffectEvent, useImperativeHandle, useRef, useState } from "react";
import { usePreferences } from "../app/preferences.ts";
import type { ConnectionState } from "../session/terminal-protocol.ts";
import { openTerminalSession, type TerminalSession } from "../session/terminal-session.ts";
import { TerminalNotice } from "../session/terminal-status.tsx";
import { useNarrow } from "../ui/page.tsx";

export interface WatchTerminalHandle {
  focus(): void;
  /** Gives the terminal the size of the cell. */
  takeSize(): void;
}

/** Larger letters would leave too few columns in a cell. */
const largestFontPx = 12;
/** Below this, text cannot be read at a glance, so the terminal scrolls. On a phone, sideways scrolling would take the swipes. */
const smallestFont = { px: 9, phonePx: 6 } as const;
/** About three minutes; then a button reconnects. */
const maxAttempts = 24;
/** How long a note about discarded input stays. */
const refusedMs = 3_000;

/** A live terminal without its bar. Another session or attempt needs another `key`. */
export function WatchTerminal(props: {
  readonly ref: Ref<WatchTerminalHandle>;
  readonly sessionId: string;
  readonly label: string;
  readonly onState: (state: ConnectionState) => void;
  /** Called on F6. */
  readonly onLeave: () => void;
  /** Called when the user wants the next (1) or previous cell of a narrow screen. */
  readonly onSwipe: (by: 1 | -1) => void;
  readonly onReopen: () => void;
}) {
  const { ref, sessionId, label, onState, onLeave, onSwipe, onReopen } = props;
  const place = useRef<HTMLDivElement>(null);
  const session = useRef<TerminalSession | null>(null);
  const [state, setState] = useState<ConnectionState>({ kind: "connecting", again: false });
  const [refused, setRefused] = useState(0);
  const narrow = useNarrow();
  const { terminalFontPx, terminalScreenReader: screenReader } = usePreferences();
  const smallestFontPx = narrow ? smallestFont.phonePx : smallestFont.px;
  const fontPx = Math.min(terminalFontPx, largestFontPx);
  useImperativeHandle(
    ref,
    () => ({ focus: () => session.current?.focus(), takeSize: () => session.current?.takeSize() }),
    [],
  );

  const become = useEffectEvent((next: ConnectionState) => {
    setState(next);
    onState(next);
  });
  const leave = useEffectEvent(() => onLeave());
  const open = useEffectEvent((element: HTMLElement) =>
    openTerminalSession(element, {
      sessionId,
      mode: undefined,
      label,
      look: { fontPx, screenReader, smallestFontPx },
      // A phone does not resize a desktop's terminal.
      sizing: !narrow,
      shrink: narrow ? "width" : "both",
      maxAttempts,
      onState: (next) => become(next),
      onSize: () => undefined,
      onRefused: () => setRefused(Date.now()),
      onFind: () => undefined,
      onLeave: () => leave(),
      onMatches: () => undefined,
      takeCtrl: () => false,
    }),
  );

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const opened = open(element);
    session.current = opened;
    // Tab moves between cells; Enter leads into the terminal.
    for (const input of element.querySelectorAll("textarea")) input.tabIndex = -1;
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
    session.current?.setLook({ fontPx, screenReader, smallestFontPx });
  }, [fontPx, screenReader, smallestFontPx]);

  useEffect(() => {
    if (refused === 0) return;
    const timer = setTimeout(() => setRefused(0), refusedMs);
    return () => clearTimeout(timer);
  }, [refused]);

  useSwipes(place, onSwipe);

  return (
    <>
      <div
        ref={place}
        className={`terminal-place absolute inset-0 overflow-auto pt-1 pl-1.5 ${narrow ? "touch-pan-y" : ""}`}
      />
      <TerminalNotice
        state={state}
        showsEnd={false}
        refused={refused !== 0}
        onRetry={() => (state.kind === "waiting" ? session.current?.retryNow() : onReopen())}
      />
    </>
  );
}

/** A touch that moves less than this does not count as a swipe. */
const slopPx = 8;
const swipePx = 40;

/** Swipes to the left or right. xterm uses all touches for its scrolling, so the browser does not detect swipes. */
function useSwipes(place: RefObject<HTMLElement | null>, onSwipe: (by: 1 | -1) => void): void {
  const swiped = useEffectEvent(onSwipe);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let from: Touch | undefined;
    let to: Touch | undefined;
    const isSideways = (): boolean =>
      from !== undefined &&
      to !== undefined &&
      Math.abs(to.clientX - from.clientX) > Math.max(slopPx, 2 * Math.abs(to.clientY - from.clientY));
    const onStart = ({ touches }: TouchEvent): void => {
      from = touches.length === 1 ? touches[0] : undefined;
      to = undefined;
    };
    const onMove = (event: TouchEvent): void => {
      to = event.touches.length === 1 ? event.touches[0] : undefined;
      // Otherwise the terminal would scroll.
      if (isSideways()) event.stopPropagation();
    };
    const onEnd = (): void => {
      const movedPx = from === undefined || to === undefined ? 0 : to.clientX - from.clientX;
      if (isSideways() && Math.abs(movedPx) >= swipePx) swiped(movedPx < 0 ? 1 : -1);
      from = undefined;
    };
    element.addEventListener("touchstart", onStart, { passive: true });
    element.addEventListener("touchmove", onMove, { passive: true });
    element.addEventListener("touchend", onEnd, { passive: true });
    return () => {
      element.removeEventListener("touchstart", onStart);
      element.removeEventListener("touchmove", onMove);
      element.removeEventListener("touchend", onEnd);
    };
  }, [place]);
}
