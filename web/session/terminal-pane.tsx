import { lazy, Suspense, useState } from "react";
import type { TerminalMode } from "../../src/wire/terminal.ts";
import { classNames } from "../ui/class-names.ts";
import type { ConnectionState } from "./terminal-protocol.ts";

const LiveTerminal = lazy(async () => ({ default: (await import("./live-terminal.tsx")).LiveTerminal }));

/**
 * A session's live terminal. It fills the element that it is in, or as `className` says. Without `mode` it drives when the account may,
 * else it observes. What draws it is loaded with the first of them.
 */
export function TerminalPane({
  sessionId,
  mode,
  className,
  alone,
  onState,
  onLinks,
}: {
  readonly sessionId: string;
  readonly mode?: TerminalMode | undefined;
  readonly className?: string;
  /** It has no other viewer: a phone may set its size too, and the page itself shows how it ended. */
  readonly alone?: boolean;
  readonly onState?: (state: ConnectionState) => void;
  /** Called with the web addresses in it, whenever they have changed. */
  readonly onLinks?: (links: readonly string[]) => void;
}) {
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
