import { looksLikeObject } from "./json-peek.ts";
import type { LineSource } from "./line-source.ts";
import type { LineSink } from "./line-splitter.ts";
import type { TurnBuilder } from "./transcript-format.ts";
import type { TurnMark } from "./turn-index.ts";

/** Skipped lines are remembered by offset up to here, so that none is counted twice; beyond they are only counted. */
const maxSkippedOffsets = 10_000;
/** Turns that lie closer together are read in one go. */
const maxGapBytes = 64 * 1024;

/** A turn that has to be put together from the lines of `[start, end)`. */
export interface Job {
  readonly index: number;
  readonly mark: TurnMark;
  readonly builder: TurnBuilder;
  readonly start: number;
  readonly end: number;
}

/** Gives every job its lines; jobs that lie close together share one pass, and a source that cannot seek is passed through once. */
export async function feedJobs(source: LineSource, jobs: readonly Job[], skipped: SkippedLines): Promise<void> {
  for (let from = 0; from < jobs.length; ) {
    let to = from + 1;
    while (to < jobs.length && (!source.seekable || (jobs[to]?.start ?? 0) - (jobs[to - 1]?.end ?? 0) <= maxGapBytes))
      to++;
    const together = jobs.slice(from, to).filter((job) => job.end > job.start);
    const begin = together.at(0);
    const end = together.at(-1)?.end;
    if (begin !== undefined && end !== undefined) {
      await source.lines({ offset: begin.start, insideTooLong: false }, end, sinkOf(together, skipped));
    }
    from = to;
  }
}

function sinkOf(jobs: readonly Job[], skipped: SkippedLines): LineSink {
  let at = 0;
  return {
    line(bytes, offset) {
      while (at < jobs.length && offset >= (jobs[at]?.end ?? 0)) at++;
      const job = jobs[at];
      if (job === undefined || offset < job.start || bytes.length <= 1 || !looksLikeObject(bytes)) return;
      if (!job.builder.line(bytes)) skipped.add(offset);
    },
    skipped: () => undefined, // was counted by the scan
    pause: () => undefined,
  };
}

/** Which lines could not be read. */
export interface SkippedLines {
  add(offset: number): void;
  count(): number;
}

/** None so far. */
export function createSkippedLines(): SkippedLines {
  const offsets = new Set<number>();
  let more = 0;
  return {
    add(offset) {
      if (offsets.size < maxSkippedOffsets) offsets.add(offset);
      else if (!offsets.has(offset)) more++;
    },
    count: () => offsets.size + more,
  };
}
