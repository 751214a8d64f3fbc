import { AArrowDown, AArrowUp, Accessibility, Eye, Maximize2, PlugZap, Search, Unplug } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "react-router";
import { useConnected } from "../api/live-events.ts";
import { changePreferences, terminalFontRange, usePreferences } from "../app/preferences.ts";
import { Lamp } from "../ui/badge.tsx";
import { Button, buttonClass, IconButton } from "../ui/button.tsx";
import type { LampTone } from "../ui/session-state.ts";
import type { ConnectionState } from "./terminal-protocol.ts";

export function TerminalBar(props: {
  readonly state: ConnectionState;
  readonly size: { readonly cols: number; readonly rows: number } | null;
  readonly onFind: () => void;
  readonly onTakeSize: () => void;
}) {
  const { state, size, onFind, onTakeSize } = props;
  const { terminalFontPx, terminalScreenReader: screenReader } = usePreferences();
  const { tone, words } = standing(state);
  const viewers = state.kind === "live" ? state.viewers : null;
  const others = viewers === null ? 0 : viewers.drivers + viewers.observers - 1;
  const canTakeSize = state.kind === "live" && state.mode === "drive" && viewers?.sizer === false;
  const font = (by: number): void => {
    const px = Math.min(terminalFontRange.max, Math.max(terminalFontRange.min, terminalFontPx + by));
    changePreferences({ terminalFontPx: px });
  };
  return (
    <div className="flex h-9 shrink-0 items-center gap-2 border-b border-line bg-panel pr-1 pl-3 text-xs text-ink-soft pointer-coarse:h-11">
      <Lamp tone={tone} className="animate-none" />
      <span role="status" className="truncate">
        {words}
      </span>
      {others > 0 && (
        <span className="inline-flex items-center gap-1 text-ink-faint" title={watching(others)}>
          <Eye aria-hidden className="size-3.5" />
          <span className="sr-only">{watching(others)}</span>
          <span aria-hidden>{others}</span>
        </span>
      )}
      <span className="ml-auto hidden font-mono text-2xs text-ink-faint sm:inline">
        {size !== null && `${size.cols}×${size.rows}`}
      </span>
      <div className="flex items-center max-sm:ml-auto">
        {canTakeSize && <IconButton label="Fit terminal to this window" icon={Maximize2} onClick={onTakeSize} />}
        <IconButton label="Search the terminal (Ctrl+F)" icon={Search} onClick={onFind} />
        <IconButton label="Decrease font size" icon={AArrowDown} onClick={() => font(-1)} />
        <IconButton label="Increase font size" icon={AArrowUp} onClick={() => font(1)} />
        <IconButton
          label="Text for screen readers"
          icon={Accessibility}
          aria-pressed={screenReader}
          className={screenReader ? "bg-accent-soft text-accent" : "max-sm:hidden"}
          onClick={() => changePreferences({ terminalScreenReader: !screenReader })}
        />
      </div>
    </div>
  );
}

function watching(others: number): string {
  return others === 1 ? "1 other viewer" : `${others} other viewers`;
}

function standing(state: ConnectionState): { readonly tone: LampTone; readonly words: string } {
  switch (state.kind) {
    case "connecting":
      return { tone: "idle", words: state.again ? "Reconnecting…" : "Connecting…" };
    case "live":
      return { tone: "working", words: state.mode === "drive" ? "Live" : "Live, view only" };
    case "waiting":
      return { tone: "limited", words: "Not connected" };
    case "ended":
      return { tone: "ended", words: "Ended" };
    case "stopped":
      return { tone: "failed", words: "Not connected" };
  }
}

/** Shows connection problems and discarded input over the oldest lines of the terminal. */
export function TerminalNotice(props: {
  readonly state: ConnectionState;
  /** False if the page shows how the agent ended. */
  readonly showsEnd: boolean;
  readonly refused: boolean;
  readonly onRetry: () => void;
}) {
  const { state, showsEnd, refused, onRetry } = props;
  // An unreachable gateway is reported above the page.
  const connected = useConnected();
  const waits = state.kind === "waiting" && connected;
  const words = (state.kind === "ended" && !showsEnd) || (state.kind === "waiting" && !waits) ? null : wordsOf(state);
  if (words === null && !refused) return null;
  return (
    <div role="status" className="pointer-events-none absolute inset-x-3 top-2 z-10 flex justify-center">
      <div className="pointer-events-auto flex max-w-full flex-wrap items-center gap-x-3 gap-y-1 rounded-lg border border-line bg-raised px-3 py-2 text-xs text-ink-soft shadow-float">
        {state.kind === "ended" ? (
          <PlugZap aria-hidden className="size-4" />
        ) : (
          words !== null && <Unplug aria-hidden className="size-4 text-lamp" />
        )}
        {words !== null && <span>{words}</span>}
        {waits && <Countdown to={state.retryAt} />}
        {refused && <strong className="font-medium text-danger">{refusal(state)}</strong>}
        {waits && (
          <Button size="sm" onClick={onRetry}>
            Connect now
          </Button>
        )}
        {state.kind === "stopped" && state.why === "not_signed_in" && (
          <Link to="/sign-in" className={buttonClass({ size: "sm", variant: "primary" })}>
            Sign in again
          </Link>
        )}
        {state.kind === "stopped" && (state.why === "busy_elsewhere" || state.why === "closed") && (
          <Button size="sm" onClick={onRetry}>
            Try again
          </Button>
        )}
      </div>
    </div>
  );
}

/** Seconds until the next attempt. Hidden from screen readers. */
function Countdown({ to }: { readonly to: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.ceil((to - now) / 1_000));
  return (
    <span aria-hidden className="font-mono text-ink-faint">
      {seconds} s
    </span>
  );
}

function refusal(state: ConnectionState): string {
  if (state.kind === "live")
    return state.mode === "observe"
      ? "You are in view-only mode, so nothing was sent."
      : "Not sent: the connection is too slow.";
  return "Not sent: you are disconnected.";
}

function wordsOf(state: ConnectionState): string | null {
  switch (state.kind) {
    case "live":
      return null;
    case "connecting":
      return state.again ? "Reconnecting…" : null;
    case "waiting":
      return `${state.reason} Reconnecting automatically.`;
    case "ended":
      return endWords(state);
    case "stopped":
      return stopWords(state);
  }
}

/** Exit codes of an agent that was asked to stop: 128 + SIGHUP, SIGINT, SIGTERM. */
const stoppedCodes: ReadonlySet<number> = new Set([129, 130, 143]);

function endWords({ exitCode, signal }: { readonly exitCode: number | null; readonly signal: string | null }): string {
  if (signal !== null) return `The agent was stopped by ${signal}.`;
  if (exitCode === null) return "The agent has exited.";
  if (stoppedCodes.has(exitCode)) return "The agent was stopped.";
  return exitCode === 0 ? "The agent has exited." : `The agent exited with code ${exitCode}.`;
}

function stopWords({ why, reason }: Extract<ConnectionState, { kind: "stopped" }>): string {
  switch (why) {
    case "not_signed_in":
      return "This browser has been signed out.";
    case "not_allowed":
      return reason === "" ? "This account cannot view the terminal." : reason;
    case "no_such_session":
      return "No terminal: the agent is not running.";
    case "busy_elsewhere":
      return "This session is running outside Postern, in another terminal.";
    case "bad_request":
    case "closed":
      return reason === "" ? "The gateway closed the connection." : reason;
  }
}
