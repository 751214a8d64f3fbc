import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import type { RecordingInfo } from "../../src/wire/terminal.ts";
import { recordingInfoSchema } from "../../src/wire/terminal.ts";
import { reading } from "../api/client.ts";
import { queryKeys } from "../api/query.ts";
import { EmptyState, ErrorNotice, LoadingRows } from "../ui/notice.tsx";

const PlaybackScreen = lazy(async () => ({ default: (await import("./playback-screen.tsx")).PlaybackScreen }));

/** Where to start playing; `nth` distinguishes repeated requests. */
export interface PlaybackWish {
  readonly at: string;
  readonly nth: number;
}

export function useRecording(sessionId: string) {
  return useQuery({
    queryKey: [...queryKeys.session(sessionId), "recording"],
    queryFn: ({ signal }) => reading.getRecordingInfo({ sessionId }, { signal, output: recordingInfoSchema }),
    staleTime: 5_000,
  });
}

export function PlaybackTab({
  sessionId,
  wish,
  onMoment,
}: {
  readonly sessionId: string;
  readonly wish: PlaybackWish | null;
  /** The position, in milliseconds since the epoch. */
  readonly onMoment: (momentMs: number) => void;
}) {
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
      <PlaybackScreen sessionId={sessionId} timeline={timeline} wish={wish} onMoment={onMoment} />
    </Suspense>
  );
}

/** Recorded time, in milliseconds since the epoch. */
export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The recorded stretches; the time between them is skipped. */
export interface Timeline {
  readonly stretches: readonly Stretch[];
  readonly durationMs: number;
}

export function timelineOf({ terminals }: RecordingInfo): Timeline {
  const stretches: Stretch[] = [];
  for (const { beginsAt, endsAt } of terminals) {
    const last = stretches.at(-1);
    const fromMs = Math.max(Date.parse(beginsAt), last?.toMs ?? 0);
    const toMs = Date.parse(endsAt);
    if (toMs >= fromMs) stretches.push({ fromMs, toMs });
  }
  return { stretches, durationMs: stretches.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0) };
}

/** The moment at an offset into the timeline. */
export function momentAt({ stretches }: Timeline, offsetMs: number): number {
  let rest = Math.max(0, offsetMs);
  for (const { fromMs, toMs } of stretches) {
    if (rest <= toMs - fromMs) return fromMs + rest;
    rest -= toMs - fromMs;
  }
  return stretches.at(-1)?.toMs ?? 0;
}

/** The offset of a moment; between two stretches, the start of the next. */
export function offsetOf({ stretches }: Timeline, momentMs: number): number {
  let offset = 0;
  for (const { fromMs, toMs } of stretches) {
    if (momentMs <= fromMs) return offset;
    offset += Math.min(momentMs, toMs) - fromMs;
    if (momentMs <= toMs) return offset;
  }
  return offset;
}

/** `1:02`, or `1:02:03`. */
export function clockWords(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const two = (value: number): string => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}
