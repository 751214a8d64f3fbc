import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { type DiffAgainst, sessionDiffSchema } from "../../src/wire/changes.ts";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { reading } from "../api/client.ts";
import { usePreferences } from "../app/preferences.ts";
import { Finish } from "../publish/finish.tsx";
import { Button } from "../ui/button.tsx";
import { EmptyState, ErrorNotice, LoadingRows } from "../ui/notice.tsx";

const ReviewTab = lazy(async () => ({ default: (await import("../review/review-tab.tsx")).ReviewTab }));

/** The changes since the session's base commit. Read again after each event of the session. */
export function ChangesTab({
  summary,
  paused,
  onCloseSession,
}: {
  readonly summary: SessionSummary;
  /** The session is closing: its worktree may be half removed. */
  readonly paused: boolean;
  /** Opens the dialog that closes the session. */
  readonly onCloseSession: () => void;
}) {
  const [against, setAgainst] = useState<DiffAgainst>("base");
  const { sessionId, updatedAt, activity, worktree } = summary;
  const ignoreWhitespace = usePreferences().ignoreWhitespace ? "true" : "false";
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["diff", sessionId, against, ignoreWhitespace, updatedAt, activity],
    enabled: !paused && worktree?.removed !== true,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      reading.sessionDiff(
        { sessionId, against, ignoreWhitespace, patches: "false" },
        { signal, output: sessionDiffSchema },
      ),
    staleTime: 2_000,
    gcTime: 10_000,
  });
  if (worktree?.removed === true) {
    return (
      <EmptyState title="Worktree removed">
        The branch {worktree.branch} was kept. Resuming the session recreates the worktree.
      </EmptyState>
    );
  }
  const loading = (
    <div className="p-3">
      <LoadingRows label="Loading changes" rows={3} />
    </div>
  );
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <ErrorNotice error={error} onRetry={() => void refetch()} className="p-3" />
      {data === undefined && error !== null && against !== "base" && (
        <div className="px-3">
          <Button onClick={() => setAgainst("base")}>Show all changes</Button>
        </div>
      )}
      {data === undefined && error === null && loading}
      {data !== undefined && (
        <Suspense fallback={loading}>
          <ReviewTab
            summary={summary}
            diff={data}
            against={against}
            onAgainst={setAgainst}
            refreshing={isFetching}
            onRefresh={() => void refetch()}
          />
        </Suspense>
      )}
      {data !== undefined && !paused && <Finish {...{ summary, onCloseSession }} />}
    </div>
  );
}
