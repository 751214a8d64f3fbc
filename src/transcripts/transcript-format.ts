import type { FileStamp, LineSource } from "./line-source.ts";
import type { ReadText } from "./turn-collector-turn.ts";
import type { TranscriptReader } from "./turn-index.ts";

/** What the shared machinery has to know of one agent's transcripts. Lives in the agent's folder. */
export interface TranscriptFormat extends TranscriptReader {
  /** Collects what was said in a line, for search. */
  readonly readText: ReadText;
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

/** All formats by their names: those that templates, the configuration and the catalog use. */
export type TranscriptFormats = Readonly<Record<string, TranscriptFormat>>;

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
  placeOf(path: string): { readonly database: string; readonly sessionId: string } | null;
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
