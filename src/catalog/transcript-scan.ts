import { createHash } from "node:crypto";
import { z } from "zod";
import { transcriptFormat } from "../agents/transcript-formats.ts";
import {
  type LineSource,
  looksLikeObject,
  maxLineBytes,
  openBlockingSource,
  parseLine,
  promptTitle,
  type ReadText,
  type ScanPosition,
  savedIndexerSchema,
  sessionTitle,
  stringAt,
  type TurnIndexer,
} from "../transcripts/index.ts";
import type { TranscriptRow } from "./catalog-tables.ts";
import type { FileState, TranscriptFile } from "./transcript-walk.ts";
import type { CollectorState, TextCollector, TurnText } from "./turn-collector.ts";

/** A scanned row. `listed` depends on other transcripts of its session. */
export type ScannedRow = Omit<TranscriptRow, "listed">;

/** A row and the texts since the last checkpoint, to be stored together. */
export interface Checkpoint {
  readonly row: ScannedRow;
  readonly texts: readonly TurnText[];
  /** `new`: nothing is stored yet. `again`: read from the beginning, replacing the stored text. `on`: continues the last checkpoint. */
  readonly from: "new" | "again" | "on";
}

/** Creates a scan's collector, which can continue from an earlier state. */
export type CreateCollector = (read: ReadText, from?: CollectorState) => TextCollector;

export interface ScanOptions {
  readonly transcriptId: number;
  /** The stored row to continue from. */
  readonly known: TranscriptRow | null;
  /** Whether nothing is stored yet. */
  readonly isNew: boolean;
  readonly createCollector: CreateCollector;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Content until then (epoch milliseconds) is left out, including the title; null keeps everything. */
  readonly forgottenAt: number | null;
  /** Stores a checkpoint; the scan waits for it. */
  put(checkpoint: Checkpoint): Promise<void>;
}

/** How a scan ended; `gone`: the file no longer exists. */
export type ScanEnd = "done" | "unreadable" | "gone";

/** Bytes read between two checkpoints, so that an interruption loses little and texts stay small. */
const windowBytes = 8 * 1024 * 1024;
/** An archive is unpacked from its beginning for each window; most fit in one. */
const archiveWindowBytes = 4 * maxLineBytes;
const fingerprintBytes = 256;
/** No state is saved for smaller files unchanged for a week. In the rare case that they grow, they are read from the beginning. */
const savedFromBytes = 256 * 1024;
const recentMs = 7 * 86_400_000;
const start: ScanPosition = { offset: 0, insideTooLong: false };

/** Reads a transcript from where the last scan ended, or from the beginning if it cannot be continued. */
export async function scanTranscript(file: TranscriptFile, options: ScanOptions): Promise<ScanEnd> {
  let forbidden = false;
  const open = transcriptFormat(file.format).database?.open ?? openBlockingSource;
  const source = await open(file.path, () => {
    forbidden = true;
  });
  if (source === null) return forbidden ? "unreadable" : "gone";
  try {
    await scan(file, source, options);
    return "done";
  } finally {
    await source.close();
  }
}

async function scan(file: TranscriptFile, source: LineSource, options: ScanOptions): Promise<void> {
  const { put } = options;
  const format = transcriptFormat(file.format);
  const resumed = await resume(source, options.known);
  const indexer = format.createIndexer(resumed?.saved.indexer);
  const collector = options.createCollector(format.readText, resumed?.saved.collector);
  const { forgottenAt } = options;
  // Turns are counted over the whole file, but only lines after `forgottenAt` contribute content.
  const remembered = forgottenAt === null ? indexer : format.createIndexer();
  let { position, skippedLines, kind } = resumed ?? { position: start, skippedLines: 0, kind: "session" as const };
  let from: Checkpoint["from"] = resumed !== null ? "on" : options.isNew ? "new" : "again";
  let window = source.seekable ? windowBytes : archiveWindowBytes;
  for (;;) {
    const texts: TurnText[] = [];
    const to = position.offset + window;
    const reached = await source.lines(position, to, {
      line(bytes, offset) {
        if (bytes.length <= 1) return; // empty
        if (offset === 0 && format.isPart?.(bytes) === true) kind = "part";
        if (!looksLikeObject(bytes) || !indexer.line(bytes, offset)) {
          skippedLines += 1;
          return;
        }
        if (forgottenAt !== null) {
          if (!isLater(bytes, forgottenAt)) return;
          remembered.line(bytes, offset);
        }
        collector.line(bytes, turnOf(indexer));
      },
      skipped: () => {
        skippedLines += 1;
      },
      pause() {
        indexer.pause();
        if (remembered !== indexer) remembered.pause();
        for (const text of collector.take()) texts.push(text);
      },
    });
    if (format.sessionOnceTurn === true && indexer.marks.length > 0) kind = "session";
    const stuck = reached.offset === position.offset;
    position = reached;
    const complete = source.seekable ? to >= source.stamp.sizeBytes : to - reached.offset > maxLineBytes || stuck;
    if (complete || !stuck || from !== "on") {
      const row = {
        ...rowOf(file, { transcriptId: options.transcriptId, state: stateOf(source) }),
        ...factsOf(indexer, source),
        ...(kind === "part" ? noHead : forgottenAt === null ? headOf(indexer) : headSince(remembered)),
        kind,
        parsed_offset: position.offset,
        inside_too_long: position.insideTooLong ? 1 : 0,
        fingerprint: await fingerprint(source, position.offset),
        // The reader's state contains the first prompt.
        reader_state:
          forgottenAt === null && isWorthSaving(source, position, options.now) ? savedScan(indexer, collector) : null,
        complete: complete ? 1 : 0,
        skipped_lines: skippedLines,
      };
      await put({ row, texts, from });
      from = "on";
    }
    if (complete) return;
    // A line is longer than the window.
    window = stuck ? window * 2 : window;
  }
}

function turnOf({
  marks,
  turnsBefore,
}: TurnIndexer): { readonly index: number; readonly mark: TurnIndexer["marks"][number] } | null {
  const mark = marks.at(-1);
  return mark === undefined ? null : { index: turnsBefore + marks.length - 1, mark };
}

interface Resumed {
  readonly saved: SavedScan;
  readonly position: ScanPosition;
  readonly skippedLines: number;
  readonly kind: TranscriptRow["kind"];
}

/** Where to continue, if the same file has grown and its fingerprint is unchanged. */
async function resume(source: LineSource, known: TranscriptRow | null): Promise<Resumed | null> {
  if (known === null || known.reader_state === null || !source.seekable || known.unreadable === 1) return null;
  const { stamp } = source;
  if (known.file_key !== stateOf(source).fileKey || stamp.sizeBytes < known.parsed_offset) return null;
  const saved = parseSavedScan(known.reader_state);
  if (saved === null || known.fingerprint !== (await fingerprint(source, known.parsed_offset))) return null;
  return {
    saved,
    position: { offset: known.parsed_offset, insideTooLong: known.inside_too_long === 1 },
    skippedLines: known.skipped_lines,
    kind: known.kind,
  };
}

function isWorthSaving({ seekable, stamp }: LineSource, position: ScanPosition, now: number): boolean {
  return seekable && (position.offset >= savedFromBytes || now - stamp.modifiedMs < recentMs);
}

function savedScan(indexer: TurnIndexer, collector: TextCollector): string | null {
  const saved = indexer.save();
  if (saved === null) return null;
  return JSON.stringify({ indexer: saved, collector: collector.state() } satisfies SavedScan);
}

async function fingerprint(source: LineSource, offset: number): Promise<string> {
  const length = Math.min(fingerprintBytes, offset);
  const [head, tail] = [await source.bytes(0, length), await source.bytes(offset - length, length)];
  return createHash("sha1").update(head).update(tail).digest("base64");
}

function stateOf({ stamp }: LineSource): FileState {
  return {
    fileKey: `${stamp.dev}:${stamp.ino}`,
    sizeBytes: stamp.sizeBytes,
    modifiedAt: Math.floor(stamp.modifiedMs),
  };
}

/** The row of a file that was not read. */
export function rowOf(
  file: TranscriptFile,
  { transcriptId, state }: { readonly transcriptId: number; readonly state: FileState },
): ScannedRow {
  return {
    transcript_id: transcriptId,
    path: file.path,
    agent: file.agent,
    format: file.format,
    session_id: file.sessionId,
    kind: "session",
    file_key: state.fileKey,
    size_bytes: state.sizeBytes,
    modified_at: state.modifiedAt,
    parsed_offset: 0,
    inside_too_long: 0,
    fingerprint: "",
    reader_state: null,
    complete: 1,
    unreadable: 0,
    skipped_lines: 0,
    dir: null,
    branch: null,
    model: null,
    title: null,
    first_prompt: null,
    created_at: null,
    updated_at: state.modifiedAt,
    turn_count: 0,
  };
}

function factsOf({ facts, marks, turnsBefore }: TurnIndexer, source: LineSource): Partial<ScannedRow> {
  return {
    dir: storable(facts.cwd),
    branch: storable(facts.branch),
    model: storable(facts.model),
    created_at: epochMs(facts.createdAt),
    updated_at: epochMs(facts.updatedAt) ?? stateOf(source).modifiedAt,
    turn_count: turnsBefore + marks.length,
  };
}

type Head = Pick<ScannedRow, "title" | "first_prompt">;

/** Parts are neither listed nor searched. */
const noHead: Head = { title: null, first_prompt: null };

function headOf({ facts }: TurnIndexer): Head {
  return {
    title: storable(sessionTitle(facts)),
    first_prompt: storable(facts.firstPrompt),
  };
}

/** The agent's own title can reveal forgotten content. */
function headSince({ facts }: TurnIndexer): Head {
  return { title: storable(promptTitle(facts.firstPrompt ?? "")), first_prompt: storable(facts.firstPrompt) };
}

/** Whether a line has a later timestamp. */
function isLater(bytes: Buffer, at: number): boolean {
  const line = parseLine(bytes);
  return line !== null && (epochMs(stringAt(line, "timestamp")) ?? 0) > at;
}

/** PostgreSQL rejects NUL. */
function storable(text: string | null): string | null {
  return text === null ? null : text.replaceAll("\0", "");
}

function epochMs(time: string | null): number | null {
  const ms = time === null ? Number.NaN : Date.parse(time);
  return Number.isNaN(ms) ? null : ms;
}

const collectorSchema: z.ZodType<CollectorState> = z.object({
  turnIndex: z.int(),
  turnStart: z.int(),
  characters: z.int(),
  command: z.string().nullable(),
  form: z.enum(["responses", "events", "items"]),
  handedOver: z.int(),
});

const savedScanSchema = z.object({ indexer: savedIndexerSchema, collector: collectorSchema });

/** The readers' state, to continue when the file has grown. */
type SavedScan = z.infer<typeof savedScanSchema>;

/** Parses a saved scan; null if from another version. */
function parseSavedScan(json: string): SavedScan | null {
  try {
    return savedScanSchema.safeParse(JSON.parse(json)).data ?? null;
  } catch {
    return null; // not JSON: the file is read from its beginning
  }
}
