import { Film } from "lucide-react";
import { useState } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { Button } from "../ui/button.tsx";
import { isLive } from "../ui/session-state.ts";
import { Scrollable } from "./scrollable.tsx";
import { endedWords } from "./session-words.ts";
import { TerminalPane } from "./terminal-pane.tsx";

/**
 * The live terminal while the agent runs. Of a session that is over only an observer looks at the last screen: a driver's connection would
 * start its agent.
 */
export function SessionTerminal({
  summary,
  onPlayback,
}: {
  readonly summary: SessionSummary;
  /** Undefined when nothing is recorded. */
  readonly onPlayback: (() => void) | undefined;
}) {
  const live = isLive(summary) && summary.owner !== "external";
  const { shown, run } = useRuns(live);
  // The session may change its id while its agent begins: the terminal is the same one.
  const [openedAs] = useState(summary.sessionId);
  // Nothing may be recorded of a session that was not started here.
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

/** Whether a terminal is to be shown, and the how many-th of this page: each resuming is another. */
function useRuns(live: boolean): { readonly shown: boolean; readonly run: number } {
  const [seen, setSeen] = useState({ live, shown: live, run: 0 });
  if (seen.live !== live) {
    const next = { live, shown: true, run: live ? seen.run + 1 : seen.run };
    setSeen(next);
    return next;
  }
  return seen;
}
