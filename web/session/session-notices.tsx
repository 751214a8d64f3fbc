import { useQueryClient } from "@tanstack/react-query";
import { LifeBuoy, TriangleAlert, X } from "lucide-react";
import { Link } from "react-router";
import { rescueRestoreOutputSchema } from "../../src/wire/changes.ts";
import type { CloseOutput, SessionSummary } from "../../src/wire/coding.ts";
import { acting } from "../api/client.ts";
import { queryKeys, useAct } from "../api/query.ts";
import { useMay } from "../api/sign-in.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { ErrorNotice, Notice } from "../ui/notice.tsx";
import { ClaimedName } from "../ui/untrusted.tsx";
import { closedWords, counted } from "./session-words.ts";

/** Errors, warnings, the result of closing, backups, and where the conversation continues. */
export function SessionNotices(props: {
  readonly summary: SessionSummary;
  readonly sessionId: string;
  readonly closed: CloseOutput | null;
  readonly trouble: Error | null;
  readonly onDismiss: () => void;
}) {
  const { summary, sessionId, closed, trouble, onDismiss } = props;
  const said = closed === null ? null : closedWords(closed);
  const rescue = summary.worktree?.rescue ?? null;
  const { continuedBy: continued, turnFailure, warnings } = summary;
  const isEmpty = [trouble, said, rescue, continued, turnFailure].every((notice) => notice === null);
  if (isEmpty && warnings.length === 0) return null;
  return (
    <div className="flex flex-col gap-2 border-b border-line bg-ground px-3 py-2">
      <ErrorNotice error={trouble} />
      {turnFailure !== null && (
        <Notice tone="danger">
          The last turn failed. Reason given by the agent: <ClaimedName name={turnFailure} />
        </Notice>
      )}
      {warnings.map((warning) => (
        <Notice key={warning} tone="lamp" icon={TriangleAlert}>
          <ClaimedName name={warning} />
        </Notice>
      ))}
      {said !== null && (
        <div role="status">
          <Notice>
            <div className="flex items-start justify-between gap-2">
              <span>{said}</span>
              <IconButton label="Dismiss" icon={X} className="-my-0.5" onClick={onDismiss} />
            </div>
          </Notice>
        </div>
      )}
      {continued !== null && (
        <Notice>
          This conversation continues in{" "}
          <Link to={`/sessions/${encodeURIComponent(continued)}`} className="text-accent underline underline-offset-2">
            another session
          </Link>
          .
        </Notice>
      )}
      {rescue !== null && <RescueNotice summary={summary} sessionId={sessionId} />}
    </div>
  );
}

function RescueNotice({ summary, sessionId }: { readonly summary: SessionSummary; readonly sessionId: string }) {
  const client = useQueryClient();
  const mayWrite = useMay("coding:write");
  const restore = useAct({
    mutationFn: () => acting.rescueRestore({ sessionId: summary.sessionId }, { output: rescueRestoreOutputSchema }),
    onSuccess: () => void client.invalidateQueries({ queryKey: queryKeys.session(sessionId) }),
  });
  return (
    <>
      <ErrorNotice error={restore.error} />
      <Notice tone="lamp" icon={LifeBuoy}>
        <div className="flex flex-wrap items-center justify-between gap-2">
          <span role="status">
            {restore.isSuccess
              ? `${counted(restore.data.restoredCount, "file")} restored in ${restore.data.path}.`
              : "Uncommitted work was saved as a backup commit when the worktree was removed."}
          </span>
          {mayWrite && !restore.isSuccess && (
            <Button size="sm" busy={restore.isPending} onClick={() => restore.mutate()}>
              Restore
            </Button>
          )}
        </div>
      </Notice>
    </>
  );
}
