import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { createGate, type Gate } from "../core/gate.ts";
import { type FoundSegment, findSegments, lastMark, readPieces } from "./recording-files.ts";
import type { RecordedEvent, TerminalRecording, TerminalSize, TerminalSnapshot } from "./terminal-info.ts";
import { isTerminalId, readDescription, readStartedAt, terminalsDir } from "./terminal-record.ts";

interface Found {
  readonly dir: string;
  readonly segments: readonly FoundSegment[];
}

/** Parsed before it is looked whether others should have their turn: less than a millisecond. */
const PARSE_BYTES = 16 * 1024;
/** Screens that are asked for while another one is made. */
const MAX_WAITING = 64;
/** The thread is let go of after so long. */
const TURN_MS = 5;

/** Reads recordings from the folder of a host, which may write to them at the same time. */
export function createRecordingReader(
  stateDir: string,
  clock: Clock,
): (terminalId: string) => Promise<TerminalRecording | null> {
  const gate = createGate({ atOnce: 1, waiting: MAX_WAITING });

  return async (terminalId) => {
    if (!isTerminalId(terminalId)) return null;
    const dir = join(terminalsDir(stateDir), terminalId);
    const segments = await findSegments(dir);
    const [first] = segments;
    const last = segments.at(-1);
    if (first === undefined || last === undefined) return null;
    const description = readDescription(dir);
    const lastAt = (await lastMark(dir, last)).at;
    return {
      terminalId,
      startedAt: description?.startedAt ?? readStartedAt(dir) ?? first.first.at,
      beginsAt: first.first.at,
      endsAt: Math.max(lastAt + 1, description?.endedAt ?? 0),
      live: description === undefined,
      sizeBytes: segments.reduce((sum, { first: { offset }, end }) => sum + end - offset, 0),
      async *events({ from = Number.NEGATIVE_INFINITY } = {}) {
        yield* readEvents({ dir, segments: await findSegments(dir) }, { from, before: Number.POSITIVE_INFINITY });
      },
      screenAt: (at, { signal } = {}) => showScreen({ dir, segments, at }, { clock, gate, signal }),
    };
  };
}

async function* readEvents(
  { dir, segments }: Found,
  { from, before }: { readonly from: number; readonly before: number },
): AsyncGenerator<RecordedEvent> {
  const begin = segments.findLastIndex(({ first }) => first.at < from);
  let told: TerminalSize | undefined;
  let earlier: TerminalSize | undefined;
  for (const segment of segments.slice(Math.max(0, begin))) {
    if (segment.first.at >= before) break;
    for await (const { mark, data } of readPieces(dir, segment)) {
      const { at, cols, rows } = mark;
      if (at >= before) return;
      if (at < from) {
        earlier = { cols, rows };
        continue;
      }
      if (told === undefined && earlier !== undefined) {
        told = earlier;
        yield { at: from, ...earlier };
      }
      if (told?.cols !== cols || told.rows !== rows) {
        told = { cols, rows };
        yield { at, cols, rows };
      }
      if (data.byteLength > 0) yield { at, data };
    }
  }
  if (told === undefined && earlier !== undefined) yield { at: from, ...earlier };
}

/** One screen at a time: each takes memory and the processor. */
function showScreen(
  { at, ...found }: Found & { readonly at: number },
  { clock, gate, signal }: { readonly clock: Clock; readonly gate: Gate; readonly signal: AbortSignal | undefined },
): Promise<TerminalSnapshot> {
  return gate.run(async () => {
    signal?.throwIfAborted();
    const { createScreenModel } = await import("./screen-model.ts"); // whoever shows none need not load it
    const { first } = found.segments[0] ?? { first: { offset: 0, cols: 80, rows: 24 } };
    const model = createScreenModel(first, () => undefined);
    let offset = first.offset;
    let turnBegan = clock.now();
    try {
      for await (const event of readEvents(found, { from: Number.NEGATIVE_INFINITY, before: at })) {
        if (!("data" in event)) {
          model.resize(event);
          continue;
        }
        for (let done = 0; done < event.data.byteLength; done += PARSE_BYTES) {
          model.write(event.data.subarray(done, done + PARSE_BYTES));
          if (clock.now() - turnBegan < TURN_MS) continue;
          await clock.sleep(0);
          signal?.throwIfAborted();
          turnBegan = clock.now();
        }
        offset += event.data.byteLength;
      }
      return { ...model.paint(), offset: offset - model.incompleteBytes() };
    } finally {
      model.close();
    }
  });
}
