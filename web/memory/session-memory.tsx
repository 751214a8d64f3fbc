import { BookMarked, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";
import type { SessionLogDeletion, SessionRecorded } from "../../src/wire/logs.ts";
import { isGone } from "../api/api-error.ts";
import { useDeleteSessionLogs, useRecordSession, useSessionEntries } from "../api/logs.ts";
import { useMay } from "../api/sign-in.ts";
import { counted } from "../session/session-words.ts";
import { Button } from "../ui/button.tsx";
import { ConfirmDialog, Dialog } from "../ui/dialog.tsx";
import { ErrorNotice, Notice } from "../ui/notice.tsx";
import { OwnTranscript } from "./delete-log-dialog.tsx";

export function SessionMemory({ sessionId, title }: { readonly sessionId: string; readonly title: string }) {
  const mayWrite = useMay("logs:write");
  const mayReadSessions = useMay("coding:read");
  const entries = useSessionEntries(sessionId);
  const record = useRecordSession();
  /** The number of entries to delete; null while closed. */
  const [deleting, setDeleting] = useState<string | null>(null);
  const [deleted, setDeleted] = useState<SessionLogDeletion | null>(null);
  const count = entriesWords(entries.data);
  const said =
    deleted !== null
      ? deleted.message
      : record.data === undefined
        ? null
        : recordedWords(record.data, count?.none === true);
  return (
    <section aria-label="Memory of the session" className="mb-4 flex flex-col gap-2">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="text-sm text-ink-soft">
          {count === null ? "Loading…" : count.none ? "Nothing in memory for this session" : `${count.words} in memory`}
        </p>
        {mayWrite && (
          <div className="flex flex-wrap gap-2">
            {mayReadSessions && (
              <Button
                size="sm"
                icon={BookMarked}
                busy={record.isPending}
                onClick={() => record.mutate(sessionId, { onSuccess: () => setDeleted(null) })}
              >
                Save to memory
              </Button>
            )}
            <Button
              size="sm"
              icon={Trash2}
              disabled={count === null || count.none}
              onClick={() => setDeleting(count?.words ?? null)}
            >
              Delete from memory…
            </Button>
          </div>
        )}
      </div>
      <ErrorNotice error={entries.error} onRetry={() => void entries.refetch()} />
      <ErrorNotice error={record.error} />
      <div role="status">{said !== null && <Notice>{said}</Notice>}</div>
      {deleting !== null && (
        <DeleteSessionDialog
          sessionId={sessionId}
          title={title}
          count={deleting}
          onClose={() => setDeleting(null)}
          onDeleted={(deletion) => {
            setDeleting(null);
            record.reset();
            setDeleted(deletion);
          }}
        />
      )}
    </section>
  );
}

function DeleteSessionDialog(props: {
  readonly sessionId: string;
  readonly title: string;
  readonly count: string;
  readonly onClose: () => void;
  readonly onDeleted: (deletion: SessionLogDeletion) => void;
}) {
  const { sessionId, title, count, onClose, onDeleted } = props;
  const remove = useDeleteSessionLogs();
  return (
    <ConfirmDialog
      onClose={onClose}
      title="Delete this session from memory?"
      description={
        <>
          {count} of “<bdi>{title}</bdi>”, with all facts that come from no other entry. You cannot undo this.
        </>
      }
      confirm="Delete permanently"
      act={remove}
      // If nothing is left, the response of an earlier attempt was lost.
      onConfirm={() =>
        remove.mutate(sessionId, { onSuccess: onDeleted, onError: (error) => isGone(error) && onClose() })
      }
    >
      <OwnTranscript ofSession />
    </ConfirmDialog>
  );
}

function entriesWords(
  page: { readonly logs: readonly unknown[]; readonly nextCursor: string | null } | undefined,
): { readonly none: boolean; readonly words: string } | null {
  if (page === undefined) return null;
  const { length } = page.logs;
  const number = page.nextCursor === null ? length.toLocaleString("en") : `More than ${length}`;
  return { none: length === 0, words: `${number} ${length === 1 ? "entry" : "entries"}` };
}

function recordedWords({ turns }: SessionRecorded, none: boolean): string {
  if (turns > 0) return `Saved ${counted(turns, "turn")}.`;
  return none ? "Nothing to save yet." : "Everything is already saved.";
}

export function SessionMemoryDialog(props: {
  readonly sessionId: string;
  readonly title: string;
  readonly onClose: () => void;
}) {
  const { sessionId, title, onClose } = props;
  return (
    <Dialog
      onClose={onClose}
      title="Memory of this session"
      description="What was asked, decided, changed and run in this session."
    >
      <SessionMemory sessionId={sessionId} title={title} />
      <Link
        to={`/memory?sessionId=${encodeURIComponent(sessionId)}`}
        className="self-start text-sm text-accent underline underline-offset-2"
      >
        Show in memory
      </Link>
    </Dialog>
  );
}
