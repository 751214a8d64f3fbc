import { setImmediate } from "node:timers/promises";
import type { Turn } from "../../wire/turn.ts";
import { looksLikeObject } from "./json-peek.ts";
import type { FileStamp, LineSource } from "./line-source.ts";
import type { LineSink, ScanPosition } from "./line-splitter.ts";
import type { TranscriptSummary, TurnRange } from "./transcript.ts";
import { sizeOfTurn, type TurnCache } from "./turn-cache.ts";
import type { TranscriptReader, TurnBuilder, TurnIndexer, TurnMark } from "./turn-index.ts";
import { titleFrom } from "./turn-parts.ts";

/** How many bytes at the head and before the scanned end are compared to know a file again. */
const fingerprintBytes = 256;
/** Skipped lines are remembered by offset up to here, so that none is counted twice; beyond they are only counted. */
const maxSkippedOffsets = 10_000;
/** Turns that lie closer together are read in one go. */
const maxGapBytes = 64 * 1024;

/** A last turn that is larger, and not running any more, is put together anew when it is asked for again. */
const maxKeptCharacters = 2_000_000;

/** One transcript, indexed as far as it was read. Calls must not overlap. */
export interface OpenTranscript {
  /** Reads what was added; a file that shrank or was replaced is read anew. Returns how many bytes were scanned. */
  refresh(source: LineSource): Promise<number>;
  summary(): TranscriptSummary;
  turns(source: LineSource, range: TurnRange): Promise<readonly Turn[]>;
}

/** What was read so far. Another file in the same place gets a new one. */
interface Reading {
  readonly id: number;
  readonly indexer: TurnIndexer;
  readonly skipped: SkippedLines;
  position: ScanPosition;
  stamp: FileStamp;
  head: Buffer;
  tail: Buffer;
  /** The last turn, built as far as it went. */
  lastTurn: { readonly mark: TurnMark; readonly builder: TurnBuilder; readonly fedTo: number } | null;
}

/** A turn that has to be put together from the lines of `[start, end)`. */
interface Job {
  readonly index: number;
  readonly mark: TurnMark;
  readonly builder: TurnBuilder;
  readonly start: number;
  readonly end: number;
}

const start: ScanPosition = { offset: 0, insideTooLong: false };
let readings = 0;

/** Nothing is read before the first `refresh`. */
export function createOpenTranscript(
  path: string,
  options: { reader: TranscriptReader; cache: TurnCache },
): OpenTranscript {
  const { reader, cache } = options;
  let reading: Reading | null = null;

  async function continues(source: LineSource, known: Reading): Promise<boolean> {
    const { stamp } = source;
    if (!source.seekable || stamp.dev !== known.stamp.dev || stamp.ino !== known.stamp.ino) return false;
    if (stamp.sizeBytes < known.position.offset) return false;
    const { head, tail } = await fingerprint(source, known.position.offset);
    return head.equals(known.head) && tail.equals(known.tail);
  }

  function begin(stamp: FileStamp): Reading {
    const none = Buffer.alloc(0);
    return {
      id: ++readings,
      indexer: reader.createIndexer(),
      skipped: createSkippedLines(),
      position: start,
      stamp,
      head: none,
      tail: none,
      lastTurn: null,
    };
  }

  function plan(known: Reading, first: number): { readonly jobs: Job[]; readonly turns: Map<number, Turn> } {
    const { marks } = known.indexer;
    const jobs: Job[] = [];
    const turns = new Map<number, Turn>();
    for (let index = first; index < marks.length; index++) {
      const mark = marks[index];
      if (mark === undefined) break;
      const end =
        mark.role === "user"
          ? mark.start + mark.firstLineBytes + 1
          : (marks[index + 1]?.start ?? known.position.offset);
      const cached = cache.get(cacheKey(known, { mark, end }));
      if (cached !== undefined) {
        turns.set(index, cached);
        continue;
      }
      const begun = known.lastTurn?.mark === mark ? known.lastTurn : null;
      jobs.push({
        index,
        mark,
        builder: begun?.builder ?? reader.createTurnBuilder(mark),
        start: begun?.fedTo ?? mark.start,
        end,
      });
    }
    return { jobs, turns };
  }

  return {
    async refresh(source) {
      const { stamp } = source;
      if (reading !== null && sameStamp(reading.stamp, stamp)) return 0;
      if (reading === null || !(await continues(source, reading))) reading = begin(stamp);
      const current = reading;
      const { indexer, skipped, position } = current;
      reading = null; // a scan that fails half-way is begun anew
      current.position = await source.lines(position, null, {
        line(bytes, offset) {
          if (bytes.length <= 1) return; // an empty line hides nothing
          if (!looksLikeObject(bytes) || !indexer.line(bytes, offset)) skipped.add(offset);
        },
        skipped: (offset) => skipped.add(offset),
        pause: () => indexer.pause(),
      });
      current.stamp = stamp;
      Object.assign(current, await fingerprint(source, current.position.offset));
      reading = current;
      return current.position.offset - position.offset;
    },
    summary() {
      if (reading === null) throw new Error("summary before refresh");
      const { indexer, stamp, skipped } = reading;
      const { facts, marks } = indexer;
      return {
        path,
        agentSessionId: facts.agentSessionId,
        cwd: facts.cwd,
        branch: facts.branch,
        model: facts.model,
        title: titleFrom(facts.ownTitle ?? "") ?? titleFrom(facts.firstPrompt ?? ""),
        createdAt: facts.createdAt,
        updatedAt: facts.updatedAt ?? new Date(stamp.modifiedMs).toISOString(),
        turnCount: marks.length,
        lastTurn: marks.length === 0 ? { kind: "none" } : facts.lastTurn,
        turnLines: facts.turnLines,
        sizeBytes: stamp.sizeBytes,
        skippedLines: skipped.count(),
      };
    },
    async turns(source, range) {
      if (reading === null) throw new Error("turns before refresh");
      const known = reading;
      const { indexer } = known;
      const { marks } = indexer;
      const first = Math.max(0, (range.after ?? -1) + 1, marks.length - Math.max(0, range.limit));
      const { jobs, turns } = plan(known, first);
      // A read that fails half-way leaves a builder that must not be fed again.
      if (jobs.some(({ builder }) => builder === known.lastTurn?.builder)) known.lastTurn = null;
      await feed(source, jobs, known.skipped);
      for (const { index, mark, builder, end } of jobs) {
        await setImmediate(); // a turn can be long to build, and the caller is not alone in this process
        const turn = builder.turn(index);
        turns.set(index, turn);
        if (index < marks.length - 1 || mark.role === "user") cache.put(cacheKey(known, { mark, end }), turn);
        else if (indexer.facts.lastTurn.kind === "open" || sizeOfTurn(turn) <= maxKeptCharacters) {
          known.lastTurn = { mark, builder, fedTo: end };
        }
      }
      return [...turns.entries()].toSorted(([a], [b]) => a - b).map(([, turn]) => turn);
    },
  };
}

/** The end belongs to it: the mark of a turn that was only guessed can go again, and then the turn before it goes on. */
function cacheKey({ id }: Reading, { mark, end }: { readonly mark: TurnMark; readonly end: number }): string {
  return `${id}:${mark.start}-${end}`;
}

/** Gives every job its lines; jobs that lie close together share one pass, and a source that cannot seek is passed through once. */
async function feed(source: LineSource, jobs: readonly Job[], skipped: SkippedLines): Promise<void> {
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

async function fingerprint(
  source: LineSource,
  offset: number,
): Promise<{ readonly head: Buffer; readonly tail: Buffer }> {
  const length = Math.min(fingerprintBytes, offset);
  return { head: await source.bytes(0, length), tail: await source.bytes(offset - length, length) };
}

function sameStamp(a: FileStamp, b: FileStamp): boolean {
  return a.dev === b.dev && a.ino === b.ino && a.sizeBytes === b.sizeBytes && a.modifiedMs === b.modifiedMs;
}

interface SkippedLines {
  add(offset: number): void;
  count(): number;
}

function createSkippedLines(): SkippedLines {
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
