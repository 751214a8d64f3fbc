import type { RecordingInfo } from "../../src/wire/terminal.ts";

/** A stretch of recorded time, in milliseconds since the epoch. */
export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What was recorded, one stretch after another; the time between them, when no agent ran, is left out. */
export interface Timeline {
  readonly stretches: readonly Stretch[];
  readonly durationMs: number;
}

/** The timeline of what is still there. */
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

/** The moment that lies so far into the timeline. */
export function momentAt({ stretches }: Timeline, offsetMs: number): number {
  let rest = Math.max(0, offsetMs);
  for (const { fromMs, toMs } of stretches) {
    if (rest <= toMs - fromMs) return fromMs + rest;
    rest -= toMs - fromMs;
  }
  return stretches.at(-1)?.toMs ?? 0;
}

/** How far into the timeline a moment lies; one between two stretches is where the next begins. */
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
