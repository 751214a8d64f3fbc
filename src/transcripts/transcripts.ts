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
import type { WantedPicture } from "./turn-parts.ts";

/** An index takes about 100 bytes per turn; beyond this, transcripts are read again on demand. */
const defaultMaxOpen = 64;

/** Parsed turns of all transcripts: some thousand turns, about 16 MB at most. */
const maxCachedCharacters = 8_000_000;

/** Paths that were logged once; cleared beyond this. */
const maxForbidden = 1_000;

/**
 * Reads transcripts incrementally: a file that grew costs only its new part, and memory is bounded by the number of turns. An unterminated
 * last line does not count. Never throws for a file's content.
 */
export interface Transcripts {
  /**
   * @returns null if there is no such file, or this user may not read it (which is logged)
   * @throws PosternError `transcript_unreadable` for other failures
   */
  summary(path: string, format: string): Promise<TranscriptSummary | null>;
  /** Turns are shared with other callers and must not be changed. @returns and throws like `summary` */
  read(
    path: string,
    format: string,
    range: TurnRange,
  ): Promise<{ readonly summary: TranscriptSummary; readonly turns: readonly Turn[] } | null>;
  /** An image in the result of a tool call, as base64; null if there is none. @throws like `summary` */
  picture(path: string, format: string, place: WantedPicture & { readonly turn: number }): Promise<string | null>;
  /** Calls `listener` soon after the file changed or appeared. Returns the unsubscribe function. */
  watch(path: string, listener: () => void): () => void;
  close(): Promise<void>;
}

export function createTranscripts({
  formats,
  clock,
  log,
  maxOpen = defaultMaxOpen,
}: {
  readonly formats: TranscriptFormats;
  readonly clock: Clock;
  readonly log: Log;
  /** The most transcripts that stay indexed, 64 by default. The least recently used is dropped first. */
  readonly maxOpen?: number;
}): Transcripts {
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

  /** Logs each path once. */
  function warnForbidden(path: string): void {
    if (forbidden.has(path)) return;
    if (forbidden.size >= maxForbidden) forbidden.clear();
    forbidden.add(path);
    log.warn({ path }, "no permission to read a transcript");
  }

  async function open(path: string, { database, withEarlierParts }: TranscriptFormat): Promise<LineSource | null> {
    if (database !== undefined) return database.open(path);
    const openFile = (at: string): Promise<LineSource | null> => openLineSource(at, () => warnForbidden(at));
    const own = await openFile(path);
    if (own === null || withEarlierParts === undefined) return own;
    try {
      return await withEarlierParts(path, own, openFile);
    } catch (error) {
      await own.close();
      throw error;
    }
  }

  /** Runs one call per file at a time: later calls find the file already scanned. */
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
          log.debug({ bytes: scanned, ms: clock.now() - began }, "scanned a long transcript");
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
    picture: (path, format, { turn, ...wanted }) =>
      withTranscript(path, format, (transcript, source) => transcript.picture(source, turn, wanted)),
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
