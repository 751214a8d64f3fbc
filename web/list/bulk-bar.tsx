import { Archive, ArchiveRestore, Power, X } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "../ui/button.tsx";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { isLive, sessionTitle } from "../ui/session-state.ts";
import { type BulkDeed, useBulk } from "./bulk-run.ts";
import { clearSelection, useSelection } from "./selection.ts";

const running: Readonly<Record<BulkDeed, string>> = { close: "Closing", archive: "Archiving", restore: "Restoring" };

/** Actions for all selected sessions, with their progress and failures. */
export function BulkBar() {
  const selection = useSelection();
  const { run, failures, start, dismiss } = useBulk();
  const [confirming, setConfirming] = useState(false);
  const sessions = [...selection.values()];
  const live = sessions.filter(isLive);
  const archived = sessions.filter((session) => session.archived);
  const others = sessions.filter((session) => !session.archived);
  if (sessions.length === 0 && run === null && failures.length === 0) return null;
  return (
    <section
      aria-label="Selected sessions"
      className="sticky top-0 z-20 -mx-1 mb-3 flex flex-col gap-2 rounded-xl border border-line-strong bg-raised px-3 py-2 shadow-float"
    >
      <div className="flex min-h-8 flex-wrap items-center gap-2">
        <span role="status" className="mr-auto text-sm font-medium tabular-nums">
          {run === null ? `${sessions.length} selected` : `${running[run.deed]} ${run.done} of ${run.total}…`}
        </span>
        {live.length > 0 && (
          <Button size="sm" icon={Power} disabled={run !== null} onClick={() => setConfirming(true)}>
            Close {live.length}
          </Button>
        )}
        {others.length > 0 && (
          <Button size="sm" icon={Archive} disabled={run !== null} onClick={() => start("archive", others)}>
            Archive {others.length}
          </Button>
        )}
        {archived.length > 0 && (
          <Button size="sm" icon={ArchiveRestore} disabled={run !== null} onClick={() => start("restore", archived)}>
            Restore {archived.length}
          </Button>
        )}
        <IconButton
          label="Clear selection"
          icon={X}
          disabled={run !== null}
          onClick={() => {
            clearSelection();
            dismiss();
          }}
        />
      </div>
      {run !== null && <progress value={run.done} max={run.total} aria-label="Progress" className="h-1 w-full" />}
      {failures.length > 0 && (
        <ul
          role="alert"
          aria-label="Failed"
          className="flex max-h-40 flex-col gap-1 overflow-y-auto text-xs text-danger"
        >
          {failures.map(({ sessionId, title, reason }) => (
            <li key={sessionId}>
              <span className="font-medium">{title}</span>: {reason}
            </li>
          ))}
        </ul>
      )}
      {confirming && (
        <ConfirmDialog
          onClose={() => setConfirming(false)}
          onConfirm={() => {
            setConfirming(false);
            start("close", live);
          }}
          title={live.length === 1 ? "Close 1 session?" : `Close ${live.length} sessions?`}
          description="Their agents stop. Worktrees are removed, and uncommitted work in them is saved as backup commits. You can resume the sessions."
          confirm="Close"
          act={{ isPending: false, error: null }}
        >
          <ul className="mb-3 max-h-48 list-disc overflow-y-auto pl-5 text-sm text-ink-soft">
            {live.map((session) => (
              <li key={session.sessionId}>{sessionTitle(session)}</li>
            ))}
          </ul>
        </ConfirmDialog>
      )}
    </section>
  );
}
