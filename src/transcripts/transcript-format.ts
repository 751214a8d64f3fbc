import type { Turn } from "../wire/turn.ts";
import { type Fields, parseLine, timeOf } from "./json-fields.ts";
import { looksLikeObject } from "./json-peek.ts";
import type { FileStamp, LineSink, LineSource } from "./line-source.ts";
import { type MessageForm, readLine, type SavedIndexer, type TurnIndexer, type TurnMark } from "./turn-index.ts";
import { createTurnDraft, imagesOf, type TurnDraft } from "./turn-parts.ts";

/** What is particular to the transcripts of one agent. Lives in the agent's folder. */
export interface FormatParts {
  /** @param saved where to continue; one of another format is ignored */
  createIndexer(saved?: SavedIndexer): TurnIndexer;
  /** What the user said in the line that begins a turn; null when it says nothing. */
  promptOf(line: Fields): string | null;
  /** The pictures in that line, each as base64. */
  picturesOf?(line: Fields): readonly (string | null)[];
  /** Puts an answer together: what it returns is given each line, and returns false for one that cannot be parsed. */
  createAnswer(draft: TurnDraft, mark: TurnMark): (bytes: Buffer) => boolean;
  /** Collects for search what was said in any other line than that of a prompt; `turn` is null before the first one. */
  readAnswerText(bytes: Buffer, memory: CollectorMemory, turn: CollectorTurn | null): void;
  /** Whether a transcript with this first line is no session (a sub-agent's, say). Never by default. */
  isPart?(firstLine: Buffer): boolean;
  /** A transcript that looked like a part is a session once it has a turn. */
  readonly sessionOnceTurn?: true;
  /** Adds the earlier files that this one continues. `open` returns null for a file that does not exist. */
  withEarlierParts?(
    path: string,
    own: LineSource,
    open: (path: string) => Promise<LineSource | null>,
  ): Promise<LineSource>;
  /** For transcripts that are stored in a database. */
  readonly database?: TranscriptDatabase;
}

/** Finds the turns of one agent's transcripts, puts them together, and collects what was said in them. */
export interface TranscriptFormat
  extends Omit<FormatParts, "promptOf" | "picturesOf" | "createAnswer" | "readAnswerText"> {
  createTurnBuilder(mark: TurnMark): TurnBuilder;
  /** Collects what was said in a line, for search. */
  readonly readText: ReadText;
}

/** All formats by their names: those that templates, the configuration and the catalog use. */
export type TranscriptFormats = Readonly<Record<string, TranscriptFormat>>;

/** Puts one turn together from its lines. */
export interface TurnBuilder {
  /** @returns false when the line could not be parsed: to be counted as skipped. */
  line(bytes: Buffer): boolean;
  /** The turn so far; the builder can continue afterwards. */
  turn(index: number): Turn;
}

/** A format from what is particular to it. */
export function createFormat(parts: FormatParts): TranscriptFormat {
  const { promptOf, picturesOf, createAnswer, readAnswerText, ...format } = parts;

  function prompt(draft: TurnDraft, line: Fields): void {
    const text = promptOf(line);
    if (text !== null) draft.add({ type: "text", text });
    draft.images = imagesOf(picturesOf?.(line) ?? []);
    draft.touch(timeOf(line));
  }

  return {
    ...format,
    createTurnBuilder(mark) {
      const draft = createTurnDraft();
      return {
        line:
          mark.role === "user" ? (bytes) => readLine(bytes, (line) => prompt(draft, line)) : createAnswer(draft, mark),
        turn: (index) => draft.build(index, mark.role),
      };
    },
    readText(bytes, memory, turn) {
      if (turn?.begins !== true || turn.mark.role !== "user") return readAnswerText(bytes, memory, turn);
      const line = parseLine(bytes);
      turn.say((line === null ? null : promptOf(line)) ?? "");
    },
  };
}

/** The turn in which a line stands. */
export interface TurnOfLine {
  readonly index: number;
  /** The indexer's last mark: `marks.at(-1)`. */
  readonly mark: TurnMark;
}

/** The turn of a line, as a format's reader sees it. */
export interface CollectorTurn extends TurnOfLine {
  /** Whether the turn begins with this line. */
  readonly begins: boolean;
  /** How many turns begin with this line: two, when a command of the user turns out to be answered. */
  readonly began: number;
  /** Adds text to this turn. */
  say(text: string): void;
  /** Adds text to the turn before, which was the user's. */
  sayBefore(text: string): void;
  /** What was collected of this turn is void. */
  restart(): void;
}

/** What a format's reader has to remember from line to line. */
export interface CollectorMemory {
  /** @see CollectorState */
  command: string | null;
  form: MessageForm;
  /** Lines of this turn that were read: a resumed session repeats some. */
  readonly seenLines: Set<string>;
}

/** Takes in one line; `turn` is null before the first. */
export type ReadText = (bytes: Buffer, memory: CollectorMemory, turn: CollectorTurn | null) => void;

/** A session as a database lists it. */
export interface StoredSession {
  readonly sessionId: string;
  /** Events so far. */
  readonly events: number;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
}

/** Transcripts in a database file, each at the path `<database>/<session id>`. */
export interface TranscriptDatabase {
  /** Null when the path is not one of a session in such a database. */
  sessionAt(path: string): { readonly database: string; readonly sessionId: string } | null;
  /** Which file it is; opens nothing. */
  fileOf(database: string): { readonly dev: number; readonly ino: number } | null;
  /** All sessions, in no order. Null when there is no such database, or it cannot be read. */
  sessionsIn(database: string): readonly StoredSession[] | null;
  sessionIn(database: string, sessionId: string): StoredSession | null;
  stampOf(file: { readonly dev: number; readonly ino: number }, session: StoredSession): FileStamp;
  /** Null when there is no such session. @throws PosternError `transcript_unreadable` */
  open(path: string): Promise<LineSource | null>;
  /** The file that changes when a session grows. */
  journalOf(database: string): string;
  /** Returns whether a journal was written since the last call for it. */
  createJournalNews(): (journal: string) => boolean;
}

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
