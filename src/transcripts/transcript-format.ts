import type { Turn } from "../wire/turn.ts";
import { attachedAt, splitAttached } from "./attached-files.ts";
import { type Fields, parseLine, timeOf } from "./json-fields.ts";
import { looksLikeObject } from "./json-peek.ts";
import type { FileStamp, LineSink, LineSource } from "./line-source.ts";
import { type MessageForm, readLine, type SavedIndexer, type TurnIndexer, type TurnMark } from "./turn-index.ts";
import { createTurnDraft, imagesOf, type TurnDraft, type WantedPicture } from "./turn-parts.ts";

/** The parts of a format that differ between agents. */
interface FormatParts {
  /** @param saved where to continue; ignored if it is of another format */
  createIndexer(saved?: SavedIndexer): TurnIndexer;
  /** The user's text in the first line of a turn, or null. */
  promptOf(line: Fields): string | null;
  /** The images in that line, as base64. */
  picturesOf?(line: Fields): readonly (string | null)[];
  /** The paths of files that this line passes to the agent in addition to the text. */
  filesOf?(line: Fields): readonly string[];
  /** Builds an answer. Call the returned function with each line; it returns false if the line cannot be parsed. */
  createAnswer(draft: TurnDraft, mark: TurnMark): (bytes: Buffer) => boolean;
  /** Collects the text of all lines except prompts, for search; `turn` is null before the first one. */
  readAnswerText(bytes: Buffer, memory: CollectorMemory, turn: CollectorTurn | null): void;
  /** Whether a transcript with this first line is not a session, such as a sub-agent's. */
  isPart?(firstLine: Buffer): boolean;
  /** A transcript for which `isPart` is true becomes a session with its first turn. */
  readonly sessionOnceTurn?: true;
  /** Adds the earlier files that this one continues. `open` returns null for a missing file. */
  withEarlierParts?(
    path: string,
    own: LineSource,
    open: (path: string) => Promise<LineSource | null>,
  ): Promise<LineSource>;
  /** For transcripts in a database. */
  readonly database?: TranscriptDatabase;
}

/** Finds and builds the turns of an agent's transcripts, and collects their text. */
export interface TranscriptFormat
  extends Omit<FormatParts, "promptOf" | "picturesOf" | "filesOf" | "createAnswer" | "readAnswerText"> {
  /** @param wanted an image that the builder finds */
  createTurnBuilder(mark: TurnMark, wanted?: WantedPicture): TurnBuilder;
  /** Collects the text of a line for search. */
  readonly readText: ReadText;
}

/** All formats by name. */
export type TranscriptFormats = Readonly<Record<string, TranscriptFormat>>;

/** Builds a turn from its lines. */
export interface TurnBuilder {
  /** @returns false if the line could not be parsed, to be counted as skipped */
  line(bytes: Buffer): boolean;
  /** The turn so far; more lines can follow. */
  turn(index: number): Turn;
  /** The wanted image as base64; null if no line had it. */
  picture(): string | null;
}

export function createFormat(parts: FormatParts): TranscriptFormat {
  const { picturesOf, filesOf, createAnswer, readAnswerText, promptOf: rawPromptOf, ...format } = parts;
  const promptOf = (line: Fields): string | null => {
    const text = rawPromptOf(line);
    return text === null ? null : splitAttached(text).text;
  };

  function prompt(draft: TurnDraft, line: Fields): void {
    const found = rawPromptOf(line);
    const { text, files } = splitAttached(found ?? "");
    if (found !== null) draft.add({ type: "text", text });
    const beside = (filesOf?.(line) ?? []).flatMap((path) => attachedAt(path) ?? []);
    draft.attachments = [...beside, ...files].map(({ attachmentId, path }) => ({
      attachmentId,
      name: path.slice(path.lastIndexOf("/") + 1),
      mediaType: null,
      sizeBytes: null,
    }));
    draft.images = imagesOf(picturesOf?.(line) ?? []);
    draft.touch(timeOf(line));
  }

  return {
    ...format,
    createTurnBuilder(mark, wanted) {
      let found: string | null = null;
      const draft = createTurnDraft(wanted && { ...wanted, keep: (base64) => (found ??= base64) });
      return {
        line:
          mark.role === "user" ? (bytes) => readLine(bytes, (line) => prompt(draft, line)) : createAnswer(draft, mark),
        turn: (index) => draft.build(index, mark.role),
        picture: () => found,
      };
    },
    readText(bytes, memory, turn) {
      if (turn?.begins !== true || turn.mark.role !== "user") return readAnswerText(bytes, memory, turn);
      const line = parseLine(bytes);
      turn.say((line === null ? null : promptOf(line)) ?? "");
    },
  };
}

export interface TurnOfLine {
  readonly index: number;
  /** The indexer's last mark: `marks.at(-1)`. */
  readonly mark: TurnMark;
}

/** The turn of a line, as seen by a format. */
export interface CollectorTurn extends TurnOfLine {
  /** Whether the turn starts with this line. */
  readonly begins: boolean;
  /** The number of turns that start with this line: two if a command of the user was answered. */
  readonly began: number;
  /** Adds text to this turn. */
  say(text: string): void;
  /** Adds text to the previous turn, which was the user's. */
  sayBefore(text: string): void;
  /** Discards the text of this turn. */
  restart(): void;
}

/** A format's state between lines. */
export interface CollectorMemory {
  /** @see CollectorState */
  command: string | null;
  form: MessageForm;
  /** Lines of this turn so far: a resumed session repeats some. */
  readonly seenLines: Set<string>;
}

/** Reads a line; `turn` is null before the first. */
export type ReadText = (bytes: Buffer, memory: CollectorMemory, turn: CollectorTurn | null) => void;

/** A session in a database. */
export interface StoredSession {
  readonly sessionId: string;
  /** Number of events. */
  readonly events: number;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
}

/** Transcripts in a database file, at `<database>/<session id>`. */
export interface TranscriptDatabase {
  /** Null if the path is not a session in such a database. */
  sessionAt(path: string): { readonly database: string; readonly sessionId: string } | null;
  /** Identifies the file without opening it. */
  fileOf(database: string): { readonly dev: number; readonly ino: number } | null;
  /** All sessions, in no order. Null if the database does not exist or cannot be read. */
  sessionsIn(database: string): readonly StoredSession[] | null;
  sessionIn(database: string, sessionId: string): StoredSession | null;
  stampOf(file: { readonly dev: number; readonly ino: number }, session: StoredSession): FileStamp;
  /** Null if there is no such session. @throws PosternError `transcript_unreadable` */
  open(path: string): Promise<LineSource | null>;
  /** The file that changes when a session grows. */
  journalOf(database: string): string;
  /** The returned function says whether a journal was written since its last call. */
  createJournalNews(): (journal: string) => boolean;
}

/** Skipped lines up to here are remembered by offset, to count each once; further ones are only counted. */
const maxSkippedOffsets = 10_000;
/** Turns closer together than this are read in one pass. */
const maxGapBytes = 64 * 1024;

/** A turn to build from the lines of `[start, end)`. */
export interface Job {
  readonly index: number;
  readonly mark: TurnMark;
  readonly builder: TurnBuilder;
  readonly start: number;
  readonly end: number;
}

/** Feeds each job its lines. Nearby jobs share a pass; a source that cannot seek is read once. */
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
    skipped: () => undefined, // already counted
    pause: () => undefined,
  };
}

/** Lines that could not be read. */
export interface SkippedLines {
  add(offset: number): void;
  count(): number;
}

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
