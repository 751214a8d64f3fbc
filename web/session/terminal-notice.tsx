import { PlugZap, Unplug } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "react-router";
import { useConnected } from "../api/live-events.ts";
import { Button, buttonClass } from "../ui/button.tsx";
import type { ConnectionState } from "./terminal-protocol.ts";

/** Over the terminal's upper end, where the oldest lines are: what is wrong with the connection, and what went nowhere. */
export function TerminalNotice({
  state,
  showsEnd,
  refused,
  onRetry,
}: {
  readonly state: ConnectionState;
  /** False where the page itself says that the agent has ended. */
  readonly showsEnd: boolean;
  readonly refused: boolean;
  readonly onRetry: () => void;
}) {
  // While the gateway cannot be reached at all, the note above the page says so.
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

/** Whole seconds until the next attempt. Not read out: the words beside it are. */
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
      ? "You are only watching, so nothing was sent."
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

/** How an agent ends that a close, a Ctrl-C or a hang-up has asked to: 128 + SIGHUP, SIGINT, SIGTERM. */
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
