import { CircleStop, ExternalLink, Maximize2, Minimize2, Replace, Scaling, X } from "lucide-react";
import { type FocusEvent, type KeyboardEvent, useRef, useState } from "react";
import { Link } from "react-router";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { useMay } from "../api/sign-in.ts";
import type { ConnectionState } from "../session/terminal-protocol.ts";
import { Badge, Lamp } from "../ui/badge.tsx";
import { Button, buttonClass, IconButton } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { agentName, isLive, projectOf, sessionState, sessionTitle, shortPath } from "../ui/session-state.ts";
import { PermissionStrip } from "./permission-strip.tsx";
import { useWatchedSession } from "./use-watched-session.ts";
import { WatchTerminal, type WatchTerminalHandle } from "./watch-terminal.tsx";

/** One session of the grid. Its size and place never depend on what its agent does. */
export function WatchCell(props: {
  readonly number: number;
  readonly sessionId: string;
  readonly full: boolean;
  readonly onFull: (full: boolean) => void;
  readonly onReplace: () => void;
  readonly onSwipe: (by: 1 | -1) => void;
  readonly onClose: () => void;
}) {
  const { number, sessionId, full, onFull, onReplace, onSwipe, onClose } = props;
  const { summary, missing } = useWatchedSession(sessionId);
  const mayDrive = useMay("coding:drive");
  const cell = useRef<HTMLElement>(null);
  const terminal = useRef<WatchTerminalHandle>(null);
  const [typing, setTyping] = useState(false);
  /** Something was typed outside a terminal. */
  const [hinting, setHinting] = useState(false);
  const [connection, setConnection] = useState<ConnectionState>({ kind: "connecting", again: false });
  const canTakeSize = connection.kind === "live" && connection.mode === "drive" && connection.viewers?.sizer === false;
  const live = summary !== undefined && isLive(summary) && summary.owner !== "external";
  const { shown, run } = useRuns(live);
  const [attempt, setAttempt] = useState(0);
  const title = summary === undefined ? sessionId : sessionTitle(summary);
  const focusCell = (): void => cell.current?.focus();

  const type = (): void => {
    if (mayDrive && live) terminal.current?.focus();
  };
  const onKeyDownCapture = (event: KeyboardEvent): void => {
    // Escape leaves the terminal. Ctrl+[ sends it to the agent.
    if (event.key !== "Escape" || event.nativeEvent.isComposing || !inTerminal(event.target)) return;
    event.preventDefault();
    event.stopPropagation();
    focusCell();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== cell.current || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter") type();
    else if (event.key === "f") onFull(!full);
    else if (event.key === "Escape" && full) onFull(false);
    else if (event.key === "Delete") onClose();
    else if (event.key.length > 1 || event.key === "?") return;
    // A letter was meant for the terminal, so it must not open another page.
    else setHinting(true);
    event.preventDefault();
    event.stopPropagation();
  };
  const onFocusChange = (event: FocusEvent): void => {
    setTyping(event.type === "focus" && mayDrive && inTerminal(event.target));
    setHinting(false);
  };

  return (
    <section
      ref={cell}
      aria-label={`${number}: ${title}`}
      tabIndex={0}
      data-watch-cell={number}
      onKeyDownCapture={onKeyDownCapture}
      onKeyDown={onKeyDown}
      onFocus={onFocusChange}
      onBlur={onFocusChange}
      className={classNames(
        "group/cell flex flex-col overflow-hidden rounded-lg border bg-well focus:outline-none",
        full ? "absolute inset-0 z-20" : "h-full",
        typing
          ? "border-accent ring-2 ring-accent"
          : "border-line focus:border-line-strong focus:ring-2 focus:ring-line-strong",
      )}
    >
      <header className="flex h-9 shrink-0 items-center gap-2 border-b border-line bg-panel pr-1 pl-2 pointer-coarse:h-11">
        <span className="w-4 shrink-0 text-center font-mono text-xs text-ink-faint">{number}</span>
        {summary !== undefined && <State summary={summary} />}
        <h2 className="min-w-0 flex-1 truncate text-xs font-medium" title={title}>
          {title}
          {summary !== undefined && (
            <span className="font-normal text-ink-faint">
              {" "}
              · {agentName(summary.agent)} · {shortPath(projectOf(summary))}
            </span>
          )}
        </h2>
        {typing && (
          <span className="text-2xs text-accent pointer-coarse:hidden" title="Ctrl+[ sends Escape to the agent">
            Esc leaves
          </span>
        )}
        {hinting && mayDrive && live && (
          <span role="status" className="text-2xs font-medium text-lamp">
            Press Enter to type
          </span>
        )}
        {!mayDrive && <Badge>View only</Badge>}
        <div className="flex shrink-0 items-center">
          {canTakeSize && (
            <IconButton label="Fit terminal to this cell" icon={Scaling} onClick={() => terminal.current?.takeSize()} />
          )}
          <Link
            to={`/sessions/${encodeURIComponent(sessionId)}`}
            aria-label={`Open session ${number}`}
            title="Open session"
            className="inline-flex size-7 items-center justify-center rounded-md text-ink-soft hover:bg-hover hover:text-ink pointer-coarse:size-10"
          >
            <ExternalLink aria-hidden className="size-4" />
          </Link>
          <IconButton
            label={full ? `Show all cells` : `Full screen ${number} (f)`}
            icon={full ? Minimize2 : Maximize2}
            className="max-md:hidden"
            onClick={() => onFull(!full)}
          />
          <IconButton label={`Remove ${number} from the grid`} icon={X} onClick={onClose} />
        </div>
      </header>
      <div className="relative min-h-0 flex-1">
        {shown && (
          <WatchTerminal
            ref={terminal}
            key={`${run} ${attempt}`}
            sessionId={sessionId}
            label={`Terminal ${number}. Press Escape to leave it.`}
            onState={setConnection}
            onLeave={focusCell}
            onSwipe={onSwipe}
            onReopen={() => setAttempt((nth) => nth + 1)}
          />
        )}
        {live && summary.permissions.length > 0 && (
          <PermissionStrip key={summary.permissions[0]?.permissionId} summary={summary} onTerminal={type} />
        )}
        {(missing || (summary !== undefined && !live)) && (
          <Ended summary={summary} sessionId={sessionId} onReplace={onReplace} />
        )}
      </div>
    </section>
  );
}

function inTerminal(target: EventTarget): boolean {
  return target instanceof Element && target.closest(".xterm") !== null;
}

/** Whether to show a terminal, and its number in this cell: each resume opens another. An ended session is not connected to: a driver would start its agent. */
function useRuns(live: boolean): { readonly shown: boolean; readonly run: number } {
  const [seen, setSeen] = useState({ live, shown: live, run: 0 });
  if (seen.live !== live) {
    const next = { live, shown: true, run: live ? seen.run + 1 : seen.run };
    setSeen(next);
    return next;
  }
  return seen;
}

function State({ summary }: { readonly summary: SessionSummary }) {
  const { tone, words } = sessionState(summary);
  if (tone === "needs-you" || tone === "limited") return <Badge tone="lamp">{words}</Badge>;
  if (tone === "failed") return <Badge tone="danger">{words}</Badge>;
  return (
    <span className="inline-flex shrink-0 items-center gap-1.5 text-2xs text-ink-soft">
      <Lamp tone={tone} /> {words}
    </span>
  );
}

/** Covers the last screen of a session that does not run here. */
function Ended(props: {
  readonly summary: SessionSummary | undefined;
  readonly sessionId: string;
  readonly onReplace: () => void;
}) {
  const { summary, sessionId, onReplace } = props;
  const words =
    summary === undefined
      ? "This session was not found, or you don't have access."
      : summary.owner === "external"
        ? "This session is running outside Postern."
        : summary.status === "failed" && summary.closedAt === null
          ? "This session failed."
          : "This session has ended.";
  return (
    <div role="status" className="absolute inset-x-2 bottom-2 z-10 flex justify-center">
      <div className="flex max-w-full flex-wrap items-center gap-2 rounded-lg border border-line bg-raised px-3 py-2 text-xs text-ink-soft shadow-float">
        <CircleStop aria-hidden className="size-4 shrink-0" />
        <span>{words}</span>
        <Button size="sm" icon={Replace} onClick={onReplace}>
          Replace
        </Button>
        {summary !== undefined && (
          <Link to={`/sessions/${encodeURIComponent(sessionId)}`} className={buttonClass({ size: "sm" })}>
            Open session
          </Link>
        )}
      </div>
    </div>
  );
}
