import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { closePreviewSchema } from "../../src/wire/changes.ts";
import { type CloseOutput, closeOutputSchema, type SessionSummary } from "../../src/wire/coding.ts";
import { acting, reading } from "../api/client.ts";
import { queryKeys, useAct } from "../api/query.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorNotice, QueryState } from "../ui/notice.tsx";
import { previewWords } from "./session-words.ts";

export function CloseDialog(props: {
  readonly summary: SessionSummary;
  readonly sessionId: string;
  readonly onClose: () => void;
  readonly onClosed: (closed: CloseOutput) => void;
}) {
  const { summary, sessionId, onClose, onClosed } = props;
  const client = useQueryClient();
  const [discard, setDiscard] = useState(false);
  const close = useAct({
    mutationFn: () =>
      acting.codingCloseSession(
        { sessionId: summary.sessionId, ...(discard ? { discardWorktree: true } : {}) },
        { output: closeOutputSchema },
      ),
    onSuccess: (closed) => {
      void client.invalidateQueries({ queryKey: queryKeys.session(sessionId) });
      void client.invalidateQueries({ queryKey: queryKeys.sessionLists });
      onClosed(closed);
    },
  });
  // Not under the session's key: the session's events during a close would reload the preview from a half-removed worktree.
  const preview = useQuery({
    queryKey: ["close-preview", sessionId],
    enabled: close.isIdle,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) =>
      reading.closePreview({ sessionId: summary.sessionId }, { signal, output: closePreviewSchema }),
    staleTime: 0,
    gcTime: 0,
  });
  const worktree = preview.data?.worktree ?? null;
  const mayDiscard = worktree !== null && worktree.keepsBecause === null && worktree.files > 0;
  return (
    <Dialog onClose={onClose} title="Close this session?">
      <QueryState query={preview} label="Checking for unsaved work" rows={2} />
      {preview.data !== undefined && (
        <ul className="flex list-disc flex-col gap-1.5 pl-5 text-sm text-ink-soft">
          {previewWords(preview.data, { discard }).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      {mayDiscard && (
        <label className="mt-3 flex items-start gap-2.5 rounded-lg border border-line px-3 py-2 text-sm">
          <input
            type="checkbox"
            checked={discard}
            onChange={(event) => setDiscard(event.target.checked)}
            className="mt-1 accent-(--color-danger-fill)"
          />
          Discard uncommitted work
        </label>
      )}
      <ErrorNotice error={close.error} className="mt-3" />
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="danger" busy={close.isPending} disabled={preview.isPending} onClick={() => close.mutate()}>
          {discard ? "Discard and close" : "Close session"}
        </Button>
      </div>
    </Dialog>
  );
}
