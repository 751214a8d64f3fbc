import { Film } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import type { TerminalMode } from "../../src/wire/terminal.ts";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { Scrollable } from "../ui/page.tsx";
import { isLive } from "../ui/session-state.ts";
import { endedWords } from "./session-words.ts";
import type { ConnectionState } from "./terminal-protocol.ts";

/** The live terminal or, of an ended session, an observer's view: a driver would start the agent again. */
export function SessionTerminal({
  summary,
  onPlayback,
}: {
  readonly summary: SessionSummary;
  /** Undefined without a recording. */
  readonly onPlayback: (() => void) | undefined;
}) {
  const live = isLive(summary) && summary.owner !== "external";
  const { shown, run } = useRuns(live);
  // The session's id may change while its agent starts; the terminal stays the same.
  const [openedAs] = useState(summary.sessionId);
  // A session that was not started here may have no recording.
  const [hasScreen, setHasScreen] = useState(true);
  if (shown) return <TerminalPane key={run} sessionId={openedAs} className="flex-1" />;
  const elsewhere = summary.owner === "external";
  const failed = summary.failure !== null && summary.failure.lastScreen.trim() !== "";
  const words = elsewhere ? "This session is running outside Postern, in another terminal." : endedWords(summary);
  const way = onPlayback !== undefined && (
    <Button size="sm" icon={Film} onClick={onPlayback}>
      Play recording
    </Button>
  );
  if (!elsewhere && !failed && hasScreen) {
    return (
      <>
        <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line bg-ground px-3 py-2">
          <p className="text-sm text-ink-soft">{words}</p>
          {way}
        </div>
        <TerminalPane
          sessionId={summary.sessionId}
          mode="observe"
          className="flex-1"
          onState={(state) => state.kind === "stopped" && setHasScreen(false)}
        />
      </>
    );
  }
  return (
    <div className="flex min-h-0 flex-1 flex-col items-center justify-center gap-3 overflow-y-auto bg-well p-6 text-center">
      <p className="text-sm text-ink-soft">{words}</p>
      {failed && (
        <Scrollable
          label="Last screen"
          className="max-h-[50dvh] max-w-full overflow-auto rounded-lg border border-line bg-panel p-3"
        >
          <pre className="text-left font-mono text-xs leading-4">{summary.failure?.lastScreen.trimEnd()}</pre>
        </Scrollable>
      )}
      {way}
    </div>
  );
}

/** Whether to show a live terminal, and its number on this page: each resume opens another. */
function useRuns(live: boolean): { readonly shown: boolean; readonly run: number } {
  const [seen, setSeen] = useState({ live, shown: live, run: 0 });
  if (seen.live !== live) {
    const next = { live, shown: true, run: live ? seen.run + 1 : seen.run };
    setSeen(next);
    return next;
  }
  return seen;
}

const LiveTerminal = lazy(async () => ({ default: (await import("./live-terminal.tsx")).LiveTerminal }));

/** Loads a live terminal. Without `mode`, it drives if the account is allowed to, else it observes. */
export function TerminalPane(props: {
  readonly sessionId: string;
  readonly mode?: TerminalMode | undefined;
  readonly className?: string;
  /** There are no other viewers, so a phone can set the size too, and the page shows how the program ended. */
  readonly alone?: boolean;
  readonly onState?: (state: ConnectionState) => void;
  /** Called when the web addresses in the terminal change. */
  readonly onLinks?: (links: readonly string[]) => void;
}) {
  const { sessionId, mode, className, alone, onState, onLinks } = props;
  const [attempt, setAttempt] = useState(0);
  return (
    <Suspense
      fallback={
        <div role="status" className={classNames("bg-well p-4 text-xs text-ink-faint", className)}>
          Opening the terminal…
        </div>
      }
    >
      <LiveTerminal
        key={`${sessionId} ${mode} ${attempt}`}
        sessionId={sessionId}
        mode={mode}
        className={className ?? "h-full"}
        alone={alone}
        onState={onState}
        onLinks={onLinks}
        onReopen={() => setAttempt((nth) => nth + 1)}
      />
    </Suspense>
  );
}
