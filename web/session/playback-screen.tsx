import { Pause, Play, RotateCcw } from "lucide-react";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { reading } from "../api/client.ts";
import { usePreferences } from "../app/preferences.ts";
import { IconButton } from "../ui/button.tsx";
import { SelectFilter } from "../ui/field.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import { exactTime } from "../ui/time.tsx";
import { type CastLine, type CastPlayer, createCastPlayer, type PlaybackState, readCast } from "./cast-player.ts";
import type { PlaybackWish } from "./playback-tab.tsx";
import { clockWords, momentAt, offsetOf, type Timeline } from "./playback-tab.tsx";
import { createTerminalScreen, type TerminalScreen } from "./terminal-screen.ts";

const speeds = [0.5, 1, 2, 4, 8] as const;

export function PlaybackScreen(props: {
  readonly sessionId: string;
  readonly timeline: Timeline;
  readonly wish: PlaybackWish | null;
  readonly onMoment: (momentMs: number) => void;
}) {
  const { sessionId, timeline, wish, onMoment } = props;
  const place = useRef<HTMLDivElement>(null);
  const player = useRef<CastPlayer | null>(null);
  const screen = useRef<TerminalScreen | null>(null);
  const [state, setState] = useState<PlaybackState>({ kind: "paused", atMs: 0, error: null });
  const [speed, setSpeed] = useState(1);
  const { terminalFontPx } = usePreferences();
  const zeroMs = timeline.stretches[0]?.fromMs ?? 0;
  const momentMs = zeroMs + state.atMs;
  const look = { fontPx: terminalFontPx, screenReader: false };

  const become = useEffectEvent((next: PlaybackState) => {
    setState(next);
    onMoment(zeroMs + next.atMs);
  });
  const open = useEffectEvent((element: HTMLElement) => {
    const opened = createTerminalScreen(element, {
      label: "Terminal recording",
      look,
      onResize: () => opened.shrinkToFit("both"),
    });
    opened.terminal.options.disableStdin = true;
    return opened;
  });
  const begin = useEffectEvent((): number => (wish === null ? 0 : Math.max(0, Date.parse(wish.at) - zeroMs)));

  const endMs = useEffectEvent(() => momentAt(timeline, timeline.durationMs) - zeroMs);
  // A click on a turn starts playing. Opening the tab shows the last screen.
  const playsAtOnce = useEffectEvent(() => wish !== null);

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const opened = open(element);
    const created = createCastPlayer({
      open: (fromMs, signal) => readFrom(sessionId, fromMs, signal),
      feed: opened.feed,
      onState: (next) => become(next),
      endMs: endMs(),
    });
    screen.current = opened;
    player.current = created;
    const observer = new ResizeObserver(() => opened.shrinkToFit("both"));
    observer.observe(element);
    if (playsAtOnce()) created.playFrom(begin());
    else created.seek(endMs());
    return () => {
      observer.disconnect();
      player.current = null;
      screen.current = null;
      created.close();
      opened.close();
    };
  }, [sessionId]);
  useEffect(() => {
    if (wish !== null) player.current?.playFrom(begin());
  }, [wish]);
  useEffect(() => {
    screen.current?.setLook({ fontPx: terminalFontPx, screenReader: false });
    screen.current?.shrinkToFit("both");
  }, [terminalFontPx]);

  const runs = state.kind === "playing" || state.kind === "loading";
  const seekTo = (offsetMs: number): void => player.current?.seek(momentAt(timeline, offsetMs) - zeroMs);
  const offsetMs = offsetOf(timeline, momentMs);
  return (
    <section aria-label="Recording" className="flex min-h-0 flex-1 flex-col bg-well">
      {state.error !== null && (
        <div className="p-2">
          <ErrorNotice error={new Error(state.error)} onRetry={() => player.current?.seek(state.atMs)} />
        </div>
      )}
      <div className="relative min-h-0 flex-1">
        <div ref={place} className="terminal-place absolute inset-0 overflow-auto pt-1.5 pl-2" />
      </div>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 border-t border-line bg-panel px-2 py-1.5">
        <IconButton
          label={runs ? "Pause" : state.kind === "ended" ? "Play again" : "Play"}
          icon={runs ? Pause : state.kind === "ended" ? RotateCcw : Play}
          onClick={() => (runs ? player.current?.pause() : player.current?.play())}
        />
        <input
          type="range"
          aria-label="Moment"
          aria-valuetext={`${clockWords(offsetMs)} of ${clockWords(timeline.durationMs)}`}
          min={0}
          max={Math.max(1, timeline.durationMs)}
          step={100}
          value={offsetMs}
          onChange={(event) => seekTo(event.target.valueAsNumber)}
          className="h-7 min-w-24 flex-1 accent-(--color-accent-fill)"
        />
        <span className="font-mono text-2xs text-ink-soft" title={exactTime(new Date(momentMs).toISOString())}>
          {clockWords(offsetMs)} / {clockWords(timeline.durationMs)}
        </span>
        <SelectFilter
          label="Speed"
          value={String(speed)}
          onChange={(event) => {
            setSpeed(Number(event.target.value));
            player.current?.setSpeed(Number(event.target.value));
          }}
        >
          {speeds.map((each) => (
            <option key={each} value={each}>
              {each}×
            </option>
          ))}
        </SelectFilter>
      </div>
    </section>
  );
}

async function readFrom(sessionId: string, fromMs: number, signal: AbortSignal): Promise<AsyncIterable<CastLine>> {
  const response = await reading.getRecording({ sessionId, from: Math.max(0, fromMs) / 1_000 }, { signal });
  if (response.body === null) throw new Error("The recording is empty.");
  return readCast(response.body);
}
