import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import { createFileWatch } from "../platform/file-watch.ts";
import type { Turn } from "../wire/turn.ts";
import { type LineSource, openLineSource } from "./line-source.ts";
import {
  createOpenTranscript,
  type OpenTranscript,
  type TranscriptSummary,
  type TurnRange,
} from "./open-transcript.ts";
import type { TranscriptFormat, TranscriptFormats } from "./transcript-format.ts";
import { createTurnCache } from "./turn-cache.ts";

/** An index costs about 100 bytes for each turn; with this many open the rest is read anew when somebody asks. */
const defaultMaxOpen = 64;

/** Parsed turns of all transcripts together: some thousand turns, at most about 16 MB. */
const maxCachedCharacters = 8_000_000;

/** Paths that are remembered as told; with more the telling begins anew. */
const maxForbidden = 1_000;

/**
 * Reads transcripts, incrementally: a file that grew costs what it grew by, and memory is bounded by the number of turns, not
 * by their size. A last line without newline is not yet a line. Never throws for what a file holds.
 */
export interface Transcripts {
  /**
   * @returns null when there is no such file, or one that this user may not read (the log says so).
   * @throws PosternError `transcript_unreadable` when it cannot be read for another reason
   */
  summary(path: string, format: string): Promise<TranscriptSummary | null>;
  /** Turns may be shared with other callers: do not change them. @returns and throws as `summary`. */
  read(
    path: string,
    format: string,
    range: TurnRange,
  ): Promise<{ readonly summary: TranscriptSummary; readonly turns: readonly Turn[] } | null>;
  /** Calls `listener` soon after the file changed (or appeared). Returns the unsubscribe function. */
  watch(path: string, listener: () => void): () => void;
  close(): Promise<void>;
}

/** What {@link createTranscripts} needs. */
export interface TranscriptsOptions {
  readonly formats: TranscriptFormats;
  readonly clock: Clock;
  readonly log: Log;
  /** How many transcripts are kept indexed; the one that was used longest ago goes first. 64 by default. */
  readonly maxOpen?: number;
}

/** Reads the transcripts of all known formats. */
export function createTranscripts({ formats, clock, log, maxOpen = defaultMaxOpen }: TranscriptsOptions): Transcripts {
  const opened = new Map<string, OpenTranscript>();
  const cache = createTurnCache(maxCachedCharacters);
  const lock = createKeyedLock();
  const forbidden = new Set<string>();
  const watch = createFileWatch({ clock, log });

  const databases = Object.values(formats).flatMap(({ database }) => database ?? []);

  function formatOf(name: string): TranscriptFormat {
    const format = formats[name];
    if (format === undefined) throw new Error(`unknown transcript format ${name}`);
    return format;
  }

  function openTranscript(path: string, format: string): OpenTranscript {
    const key = `${format}:${path}`;
    const transcript = opened.get(key) ?? createOpenTranscript(path, { format: formatOf(format), cache });
    opened.delete(key);
    opened.set(key, transcript);
    for (const oldest of opened.keys()) {
      if (opened.size <= maxOpen) break;
      opened.delete(oldest);
    }
    return transcript;
  }

  /** Once for each file: a session is looked at again and again. */
  function tellForbidden(path: string): void {
    if (forbidden.has(path)) return;
    if (forbidden.size >= maxForbidden) forbidden.clear();
    forbidden.add(path);
    log.warn({ path }, "a transcript may not be read by this user");
  }

  async function open(path: string, { database, withEarlierParts }: TranscriptFormat): Promise<LineSource | null> {
    if (database !== undefined) return database.open(path);
    const openFile = (at: string): Promise<LineSource | null> => openLineSource(at, () => tellForbidden(at));
    const own = await openFile(path);
    if (own === null || withEarlierParts === undefined) return own;
    try {
      return await withEarlierParts(path, own, openFile);
    } catch (error) {
      await own.close();
      throw error;
    }
  }

  /** One at a time for each file: who comes while it is scanned waits and then finds it scanned. */
  function withTranscript<T>(
    path: string,
    format: string,
    use: (transcript: OpenTranscript, source: LineSource) => Promise<T>,
  ): Promise<T | null> {
    return lock.run(`${format}:${path}`, async () => {
      const source = await open(path, formatOf(format));
      if (source === null) {
        opened.delete(`${format}:${path}`);
        return null;
      }
      try {
        const transcript = openTranscript(path, format);
        const began = clock.now();
        const scanned = await transcript.refresh(source);
        if (scanned > 16 * 1024 * 1024)
          log.debug({ bytes: scanned, ms: clock.now() - began }, "a long transcript was scanned");
        return await use(transcript, source);
      } finally {
        await source.close();
      }
    });
  }

  return {
    summary: (path, format) => withTranscript(path, format, async (transcript) => transcript.summary()),
    read: (path, format, range) =>
      withTranscript(path, format, async (transcript, source) => {
        const turns = await transcript.turns(source, range);
        return { summary: transcript.summary(), turns };
      }),
    watch(path, listener) {
      for (const database of databases) {
        const place = database.sessionAt(path);
        if (place !== null) return watch.add(database.journalOf(place.database), listener);
      }
      return watch.add(path, listener);
    },
    close: async () => {
      opened.clear();
      cache.clear();
      await watch.close();
    },
  };
}
