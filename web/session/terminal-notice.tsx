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
      ? "You are watching only: nothing was sent."
      : "Not sent: the connection is choked.";
  return "Not sent: what you type now is lost.";
}

function wordsOf(state: ConnectionState): string | null {
  switch (state.kind) {
    case "live":
      return null;
    case "connecting":
      return state.again ? "Connecting again …" : null;
    case "waiting":
      return `${state.reason} Connecting again by itself.`;
    case "ended":
      return endWords(state);
    case "stopped":
      return stopWords(state);
  }
}

/** How an agent ends that a close, a Ctrl-C or a hang-up has asked to: 128 + SIGHUP, SIGINT, SIGTERM. */
const stoppedCodes: ReadonlySet<number> = new Set([129, 130, 143]);

function endWords({ exitCode, signal }: { readonly exitCode: number | null; readonly signal: string | null }): string {
  if (signal !== null) return `The agent was ended by ${signal}.`;
  if (exitCode === null) return "The agent has ended.";
  if (stoppedCodes.has(exitCode)) return "The agent was stopped.";
  return exitCode === 0 ? "The agent has ended." : `The agent has ended with exit code ${exitCode}.`;
}

function stopWords({ why, reason }: Extract<ConnectionState, { kind: "stopped" }>): string {
  switch (why) {
    case "not_signed_in":
      return "This browser is not signed in any more.";
    case "not_allowed":
      return reason === "" ? "This account may not see the terminal." : reason;
    case "no_such_session":
      return "There is no terminal to show: the agent does not run.";
    case "busy_elsewhere":
      return "Another program runs this session, in a terminal of its own.";
    case "bad_request":
    case "closed":
      return reason === "" ? "The gateway closed the connection." : reason;
  }
}
