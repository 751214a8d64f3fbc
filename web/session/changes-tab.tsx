import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ChevronRight, RefreshCw } from "lucide-react";
import { useMemo, useState } from "react";
import { type ChangedFile, sessionDiffSchema } from "../../src/wire/changes.ts";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { reading } from "../api/client.ts";
import { Badge } from "../ui/badge.tsx";
import { IconButton } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { EmptyState, ErrorNotice, LoadingRows } from "../ui/notice.tsx";
import { Scrollable } from "../ui/page.tsx";
import { DiffCount, DiffView } from "./code-block.tsx";
import { diffOfPatch } from "./line-diff.ts";
import { counted } from "./session-words.ts";

/** The changes since the session's base commit. Read again after each event of the session. */
export function ChangesTab({
  summary: { sessionId, updatedAt, activity, worktree },
  paused,
}: {
  readonly summary: SessionSummary;
  /** The session is closing: its worktree may be half removed. */
  readonly paused: boolean;
}) {
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["diff", sessionId, updatedAt, activity],
    enabled: !paused && worktree?.removed !== true,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => reading.sessionDiff({ sessionId }, { signal, output: sessionDiffSchema }),
    staleTime: 2_000,
    gcTime: 10_000,
  });
  if (worktree?.removed === true) {
    return (
      <EmptyState title="Worktree removed">
        Its branch {worktree.branch} was kept. Resuming the session creates it again.
      </EmptyState>
    );
  }
  return (
    <Scrollable label="Changes" className="min-h-0 flex-1 overflow-y-auto">
      <ErrorNotice error={error} onRetry={() => void refetch()} className="p-3" />
      {data === undefined && error === null && (
        <div className="p-3">
          <LoadingRows label="Loading changes" rows={3} />
        </div>
      )}
      {data !== undefined && (
        <>
          <div className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-ground px-3 py-1.5 text-xs text-ink-soft">
            <span className="min-w-0 flex-1 truncate">
              {counted(data.files.length, "file")} changed since <span className="font-mono">{data.base.name}</span>{" "}
              <span className="font-mono text-ink-faint">{data.base.commit.slice(0, 8)}</span>
            </span>
            <IconButton
              label="Refresh"
              icon={RefreshCw}
              disabled={isFetching}
              className={isFetching ? "animate-spin" : ""}
              onClick={() => void refetch()}
            />
          </div>
          {data.files.length === 0 && (
            <EmptyState title="No changes">Nothing has changed since {data.base.name}.</EmptyState>
          )}
          <ul>
            {data.files.map((file, index) => (
              <FileChange key={file.path} file={file} first={index === 0 && data.files.length <= 3} />
            ))}
          </ul>
          {data.truncated && <p className="px-3 py-2 text-xs text-ink-faint">Not all changes are listed.</p>}
        </>
      )}
    </Scrollable>
  );
}

const tones = { added: "accent", untracked: "accent", modified: "plain", renamed: "plain", deleted: "danger" } as const;
const words = {
  added: "new",
  untracked: "untracked",
  modified: "changed",
  renamed: "renamed",
  deleted: "deleted",
} as const;

function FileChange({ file, first }: { readonly file: ChangedFile; readonly first: boolean }) {
  const [open, setOpen] = useState(first);
  const { path, previousPath, status, additions, deletions, patch } = file;
  return (
    <li className="border-b border-line">
      <div className="flex items-center gap-1 pr-1.5 hover:bg-hover">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="flex min-w-0 flex-1 items-center gap-2 py-1.5 pl-2.5 text-left pointer-coarse:min-h-11"
        >
          <ChevronRight aria-hidden className={classNames("size-3.5 shrink-0 text-ink-faint", open && "rotate-90")} />
          <span className="min-w-0 flex-1 truncate font-mono text-xs" title={path}>
            {previousPath !== null && <span className="text-ink-faint">{previousPath} → </span>}
            {path}
          </span>
          <Badge tone={tones[status]}>{words[status]}</Badge>
          {additions !== null && deletions !== null && <DiffCount added={additions} removed={deletions} />}
        </button>
        <CopyButton text={path} label={`Copy path ${path}`} />
      </div>
      {open && <Patch patch={patch} path={path} />}
    </li>
  );
}

function Patch({ patch, path }: { readonly patch: string | null; readonly path: string }) {
  const lines = useMemo(() => (patch === null ? [] : diffOfPatch(patch)), [patch]);
  if (patch === null) {
    return <p className="bg-well px-8 py-2 text-xs text-ink-faint">Binary file, or too large to show.</p>;
  }
  return (
    <div className="border-t border-line bg-well">
      <DiffView lines={lines} label={`Changes of ${path}`} />
    </div>
  );
}
