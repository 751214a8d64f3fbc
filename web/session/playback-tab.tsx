import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { recordingInfoSchema } from "../../src/wire/terminal.ts";
import { callApi } from "../api/client.ts";
import { queryKeys } from "../api/query.ts";
import { EmptyState, ErrorNotice, LoadingRows } from "../ui/notice.tsx";
import { timelineOf } from "./timeline.ts";

const PlaybackScreen = lazy(async () => ({ default: (await import("./playback-screen.tsx")).PlaybackScreen }));

/** Where a playback is to begin, asked for by clicking a turn; `nth` distinguishes one request from the next. */
export interface PlaybackWish {
  readonly at: string;
  readonly nth: number;
}

/** What is recorded of the session's terminals. */
export function useRecording(sessionId: string) {
  return useQuery({
    queryKey: [...queryKeys.session(sessionId), "recording"],
    queryFn: ({ signal }) => callApi(`${pathOf(sessionId)}/info`, recordingInfoSchema, { signal }),
    staleTime: 5_000,
  });
}

function pathOf(sessionId: string): string {
  return `/api/coding/sessions/${encodeURIComponent(sessionId)}/recording`;
}

/** What the session's terminals showed, played back. */
export function PlaybackTab({
  sessionId,
  wish,
  onMoment,
}: {
  readonly sessionId: string;
  readonly wish: PlaybackWish | null;
  /** Called as it plays, in milliseconds since the epoch. */
  readonly onMoment: (momentMs: number) => void;
}) {
  const path = pathOf(sessionId);
  const info = useRecording(sessionId);
  if (info.data === undefined) {
    return (
      <div className="p-4">
        {info.error === null ? (
          <LoadingRows label="Loading recordings" rows={2} />
        ) : (
          <ErrorNotice error={info.error} onRetry={() => void info.refetch()} />
        )}
      </div>
    );
  }
  const timeline = timelineOf(info.data);
  if (timeline.stretches.length === 0) {
    return (
      <EmptyState title="No recording">
        Recordings are kept until newer ones need the space, or until the session is forgotten.
      </EmptyState>
    );
  }
  return (
    <Suspense fallback={<p className="p-4 text-xs text-ink-faint">Opening the recording…</p>}>
      <PlaybackScreen path={path} timeline={timeline} wish={wish} onMoment={onMoment} />
    </Suspense>
  );
}
