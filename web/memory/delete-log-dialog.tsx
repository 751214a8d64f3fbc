import { useEffect } from "react";
import type { DeletionPreview, LogDeletion } from "../../src/wire/logs.ts";
import { isGone } from "../api/api-error.ts";
import { useDeleteLog, useDeletionPreview } from "../api/logs.ts";
import { counted } from "../session/session-words.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorNotice, QueryState } from "../ui/notice.tsx";

export function DeleteLogDialog(props: {
  readonly logId: string;
  readonly ofSession: boolean;
  readonly onClose: () => void;
  readonly onDeleted: (deletion: LogDeletion) => void;
  /** Called when the entry was already deleted, here or elsewhere. */
  readonly onGone: () => void;
}) {
  const { logId, ofSession, onClose, onDeleted, onGone } = props;
  const preview = useDeletionPreview(logId);
  const remove = useDeleteLog();
  const gone = isGone(preview.error);
  useEffect(() => {
    if (gone) onGone();
  }, [gone, onGone]);
  const deleteIt = (): void =>
    remove.mutate(logId, { onSuccess: onDeleted, onError: (error) => isGone(error) && onGone() });
  const { goes = [], stays = [] } = preview.data === undefined ? {} : previewWords(preview.data);
  return (
    <Dialog onClose={onClose} title="Delete this entry?" description="You cannot undo this.">
      <QueryState query={preview} label="Checking what will be deleted" rows={2} />
      {preview.data !== undefined && (
        <div className="flex flex-col gap-4 text-sm">
          <Lines title="Deleted permanently" lines={goes} tone="text-danger" />
          {stays.length > 0 && <Lines title="Kept" lines={stays} tone="text-ink-faint" />}
          <OwnTranscript ofSession={ofSession} />
        </div>
      )}
      <ErrorNotice error={remove.error} className="mt-3" />
      <div className="mt-5 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="danger" busy={remove.isPending} disabled={preview.data === undefined} onClick={deleteIt}>
          Delete permanently
        </Button>
      </div>
    </Dialog>
  );
}

export function OwnTranscript({ ofSession }: { readonly ofSession: boolean }) {
  if (!ofSession) return null;
  return (
    <p className="text-xs text-ink-faint">
      The agent’s own transcript is kept, so you can still read and continue the session. Postern saves these turns
      again only if you ask it to.
    </p>
  );
}

function Lines({ title, lines, tone }: Readonly<{ title: string; lines: readonly string[]; tone: string }>) {
  return (
    <section aria-label={title}>
      <h3 className="label-caps mb-1">{title}</h3>
      <ul className="flex flex-col gap-0.5">
        {lines.map((line) => (
          <li key={line} className="flex gap-2">
            <span aria-hidden className={tone}>
              {tone === "text-danger" ? "−" : "="}
            </span>
            {line}
          </li>
        ))}
      </ul>
    </section>
  );
}

export interface DerivedCounts {
  readonly facts: number;
  readonly statements: number;
  readonly entities: number;
}

export interface PreviewWords {
  readonly goes: readonly string[];
  readonly stays: readonly string[];
}

export function previewWords({ removed, shared }: DeletionPreview): PreviewWords {
  return {
    goes: [
      removed.episode
        ? "The entry with its text and its search index"
        : "The entry with its text; no facts have been extracted yet",
      ...derivedWords(removed).map((line) => `${line.count} ${line.what}`),
    ],
    stays: [
      ...(shared.statements === 0 ? [] : [`${counted(shared.statements, "statement")} shared with other entries`]),
      ...(shared.entities === 0 ? [] : [`${counted(shared.entities, "topic")} shared with other entries`]),
    ],
  };
}

export function derivedWords({
  facts,
  statements,
  entities,
}: DerivedCounts): readonly { readonly count: number; readonly what: string }[] {
  const all = [
    { count: facts, what: facts === 1 ? "fact" : "facts" },
    { count: statements, what: `${statements === 1 ? "statement" : "statements"} from no other entry` },
    { count: entities, what: `${entities === 1 ? "topic" : "topics"} from no other entry` },
  ];
  return all.filter(({ count }) => count > 0);
}
