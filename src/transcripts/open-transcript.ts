import { setImmediate } from "node:timers/promises";
import type { Turn } from "../wire/turn.ts";
import { looksLikeObject } from "./json-peek.ts";
import type { FileStamp, LineSource, ScanPosition } from "./line-source.ts";
import { sessionTitle } from "./session-title.ts";
import {
  createSkippedLines,
  feedJobs,
  type Job,
  type SkippedLines,
  type TranscriptFormat,
  type TurnBuilder,
} from "./transcript-format.ts";
import { createAnswerBudget, sizeOfTurn, type TurnCache } from "./turn-cache.ts";
import type { TurnIndexer, TurnMark, TurnState } from "./turn-index.ts";
import type { WantedPicture } from "./turn-parts.ts";

/** The bytes at the start and before the scanned end that identify a file. */
const fingerprintBytes = 256;
/** Turns are built in portions of this many bytes, to bound memory. */
const portionBytes = 32 * 1024 * 1024;
/** More for a compressed file, since each portion decompresses it from its start. */
const packedPortionBytes = 128 * 1024 * 1024;

/** A larger last turn that has ended is not kept, but built again. */
const maxKeptCharacters = 2_000_000;

/** A transcript without its turns. */
export interface TranscriptSummary {
  readonly path: string;
  readonly agentSessionId: string | null;
  readonly cwd: string | null;
  readonly branch: string | null;
  readonly model: string | null;
  /** The agent's title, else the first user message, cut to 200 characters. */
  readonly title: string | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly turnCount: number;
  readonly lastTurn: TurnState;
  /** The number of lines in turns. While it stays the same, no turn has grown. */
  readonly turnLines: number;
  readonly sizeBytes: number;
  /** Lines that could not be read. A damaged line within a turn is counted when the turn is read. */
  readonly skippedLines: number;
}

/** The newest `limit` turns between `after` and `before`, in ascending order. */
export interface TurnRange {
  readonly after?: number;
  readonly before?: number;
  readonly limit: number;
  /** Includes images in prompts. */
  readonly images?: boolean;
}

/** A transcript, indexed up to where it was read. Calls must not overlap. */
export interface OpenTranscript {
  /** Reads new lines; a file that shrank or was replaced is read from its start. Returns the number of bytes scanned. */
  refresh(source: LineSource): Promise<number>;
  summary(): TranscriptSummary;
  turns(source: LineSource, range: TurnRange): Promise<readonly Turn[]>;
  /** An image in the result of a tool call of this turn, as base64; null if there is none. */
  picture(source: LineSource, index: number, wanted: WantedPicture): Promise<string | null>;
}

/** What was read from one file. */
interface Reading {
  readonly id: number;
  readonly indexer: TurnIndexer;
  readonly skipped: SkippedLines;
  position: ScanPosition;
  stamp: FileStamp;
  head: Buffer;
  tail: Buffer;
  /** The last turn, built so far. */
  lastTurn: { readonly mark: TurnMark; readonly builder: TurnBuilder; readonly fedTo: number } | null;
}

const start: ScanPosition = { offset: 0, insideTooLong: false };
let readings = 0;

/** Reads nothing before the first `refresh`. */
export function createOpenTranscript(
  path: string,
  options: { format: TranscriptFormat; cache: TurnCache },
): OpenTranscript {
  const { format, cache } = options;
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
      indexer: format.createIndexer(),
      skipped: createSkippedLines(),
      position: start,
      stamp,
      head: none,
      tail: none,
      lastTurn: null,
    };
  }

  /** The cached turn, or the job that builds it. */
  function plan(known: Reading, index: number): { readonly turn: Turn } | { readonly job: Job } | null {
    const { marks } = known.indexer;
    const mark = marks[index];
    if (mark === undefined) return null;
    const end =
      mark.role === "user" ? mark.start + mark.firstLineBytes + 1 : (marks[index + 1]?.start ?? known.position.offset);
    const turn = cache.get(cacheKey(known, { mark, end }));
    if (turn !== undefined) return { turn };
    // A line that was part of this turn may have become the start of the next one: then the turn is built again.
    const begun = known.lastTurn?.mark === mark && known.lastTurn.fedTo <= end ? known.lastTurn : null;
    const builder = begun?.builder ?? format.createTurnBuilder(mark);
    return { job: { index, mark, builder, start: begun?.fedTo ?? mark.start, end } };
  }

  /** Builds the turns before `to` that fit into a portion, newest first. */
  async function portion(source: LineSource, known: Reading, range: { readonly first: number; readonly to: number }) {
    const { indexer } = known;
    const turns = new Map<number, Turn>();
    const jobs: Job[] = [];
    const most = source.seekable ? portionBytes : packedPortionBytes;
    let bytes = 0;
    let next = range.to;
    while (next > range.first && bytes < most) {
      next--;
      const planned = plan(known, next);
      if (planned === null) continue;
      if ("turn" in planned) turns.set(next, planned.turn);
      else {
        jobs.unshift(planned.job);
        bytes += planned.job.end - planned.job.start;
      }
    }
    // After a failed read the builder must not be used again.
    if (jobs.some(({ builder }) => builder === known.lastTurn?.builder)) known.lastTurn = null;
    await feedJobs(source, jobs, known.skipped);
    for (const { index, mark, builder, end } of jobs) {
      await setImmediate(); // a long turn must not block others
      const turn = builder.turn(index);
      turns.set(index, turn);
      const isLast = index === indexer.marks.length - 1;
      if (!isLast || mark.role === "user") cache.put(cacheKey(known, { mark, end }), turn);
      else if (indexer.facts.lastTurn.kind === "open" || sizeOfTurn(turn) <= maxKeptCharacters) {
        known.lastTurn = { mark, builder, fedTo: end };
      }
    }
    return { turns: [...turns.entries()].toSorted(([a], [b]) => b - a).map(([, turn]) => turn), next };
  }

  return {
    async refresh(source) {
      const { stamp } = source;
      if (reading !== null && sameStamp(reading.stamp, stamp)) return 0;
      if (reading === null || !(await continues(source, reading))) reading = begin(stamp);
      const current = reading;
      const { indexer, skipped, position } = current;
      reading = null; // a failed scan starts over
      current.position = await source.lines(position, null, {
        line(bytes, offset) {
          if (bytes.length <= 1) return; // an empty line
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
        title: sessionTitle(facts),
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
      const count = known.indexer.marks.length;
      const end = Math.min(count, range.before ?? count);
      const first = Math.max(0, (range.after ?? -1) + 1, end - Math.max(0, range.limit));
      const budget = createAnswerBudget();
      const newestFirst: Turn[] = [];
      for (let to = end; to > first; ) {
        const { turns, next } = await portion(source, known, { first, to });
        for (const turn of turns) {
          const shown = asItEnded(turn, known.indexer.marks[turn.index]);
          newestFirst.push(budget.fit(range.images === true ? shown : withoutImages(shown)));
        }
        to = next;
      }
      return newestFirst.toReversed();
    },
    async picture(source, index, wanted) {
      if (reading === null) throw new Error("picture before refresh");
      const { indexer, position, skipped } = reading;
      const mark = indexer.marks[index];
      if (mark === undefined || mark.role === "user") return null;
      const builder = format.createTurnBuilder(mark, wanted);
      const end = indexer.marks[index + 1]?.start ?? position.offset;
      await feedJobs(source, [{ index, mark, builder, start: mark.start, end }], skipped);
      return builder.picture();
    },
  };
}

/** Adds whether the turn was interrupted. Only later lines show this, so the cached turn does not contain it. */
function asItEnded(turn: Turn, mark: TurnMark | undefined): Turn {
  return mark?.interrupted === true ? { ...turn, interrupted: true } : turn;
}

function withoutImages(turn: Turn): Turn {
  const { images, ...rest } = turn;
  return images === undefined ? turn : rest;
}

/** Includes the end: when a guessed turn is removed, the turn before it grows. */
function cacheKey({ id }: Reading, { mark, end }: { readonly mark: TurnMark; readonly end: number }): string {
  return `${id}:${mark.start}-${end}`;
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
