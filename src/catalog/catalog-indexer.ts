import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { type BatchStore, createCatalogWriter } from "./batch-store.ts";
import type { CatalogDatabase } from "./catalog-database.ts";
import { type ForgottenSession, forgottenKey } from "./forgotten-sessions.ts";
import { createStoredStates, isUnchanged, transcriptOf } from "./stored-states.ts";
import { type CreateCollector, rowOf, scanTranscript } from "./transcript-scan.ts";
import {
  type CatalogSource,
  type FileState,
  type FoundFile,
  fileState,
  pathKind,
  type TranscriptFile,
  walkTranscripts,
} from "./transcript-walk.ts";

/** Progress of indexing. */
export interface CatalogProgress {
  /** Transcripts stored in their current state. */
  readonly done: number;
  /** Transcripts found. */
  readonly total: number;
  /** Files that cannot be read. */
  readonly unreadable: number;
  /** Bytes read since the indexer was created. */
  readonly readBytes: number;
}

interface CatalogIndexerDeps {
  readonly database: CatalogDatabase;
  readonly store: BatchStore;
  readonly sources: readonly CatalogSource[];
  readonly createCollector: CreateCollector;
  readonly forgotten: readonly ForgottenSession[];
  readonly clock: Clock;
  readonly log: Log;
  onProgress(): void;
  /** Called with each folder in which transcripts can appear. */
  onFolder(path: string): void;
}

/** Reading blocks the process; while one scan waits for the store, another reads. */
const scansAtOnce = 2;
/** Files per agent to check for the first page of an empty catalog. */
const quickLookFiles = 200;
const quickPage = 24;

interface Wanted {
  readonly file: TranscriptFile;
  readonly state: FileState;
  readonly isNew: boolean;
}

/** Updates the catalog from disk. Calls must not overlap. */
export function createCatalogIndexer(deps: CatalogIndexerDeps) {
  const { database, sources, clock, log } = deps;
  const writer = createCatalogWriter({ store: deps.store, onStored: deps.onProgress });
  const stored = createStoredStates(database.db);
  const forgotten = new Map(deps.forgotten.map((session) => [forgottenKey(session), session.at]));
  const counts = { done: 0, total: 0, unreadable: 0, readBytes: 0 };

  async function index({ file, state, isNew }: Wanted): Promise<void> {
    const known = isNew ? null : await stored.row(file.path);
    const usable = known !== null && known.agent === file.agent && known.format === file.format ? known : null;
    const transcriptId = known?.transcript_id ?? (await stored.newId());
    let readTo = usable?.parsed_offset ?? 0;
    const end = await scanTranscript(file, {
      transcriptId,
      known: usable,
      isNew: known === null,
      now: clock.now(),
      forgottenAt: forgotten.get(forgottenKey(file)) ?? null,
      createCollector: deps.createCollector,
      async put(checkpoint) {
        if (checkpoint.from !== "on") readTo = 0;
        counts.readBytes += checkpoint.row.parsed_offset - readTo;
        readTo = checkpoint.row.parsed_offset;
        await writer.put(checkpoint);
      },
    }).catch((error: unknown) => {
      log.warn({ reason: messageOf(error), path: file.path }, "cannot read a transcript");
      return "unreadable" as const;
    });
    if (end === "gone") await writer.remove([file.path]);
    if (end !== "unreadable") return;
    counts.unreadable += 1;
    const row = { ...rowOf(file, { transcriptId, state }), unreadable: 1 };
    await writer.put({ row, texts: [], from: "again" });
  }

  async function indexAll(wanted: readonly Wanted[]): Promise<void> {
    const queue = wanted.toSorted((one, other) => one.state.modifiedAt - other.state.modifiedAt);
    const lane = async (): Promise<void> => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        await index(next);
        counts.done += 1;
      }
    };
    await Promise.all(Array.from({ length: scansAtOnce }, lane));
    await writer.flush();
  }

  /** Reads the newest page before all files are found. */
  async function indexNewest(): Promise<void> {
    const found: Wanted[] = [];
    for (const source of sources) {
      const file = (one: FoundFile): void => {
        const transcript = transcriptOf(one, undefined);
        if (transcript !== null) found.push({ file: transcript, state: one.state, isNew: true });
      };
      const visitor = { file, folder: () => undefined, closed: () => undefined };
      walkTranscripts(source, visitor, { newestFirst: true, maxFiles: quickLookFiles });
    }
    const newest = found.toSorted((one, other) => other.state.modifiedAt - one.state.modifiedAt).slice(0, quickPage);
    await indexAll(newest);
  }

  async function sweep(): Promise<void> {
    Object.assign(counts, { done: 0, total: 0, unreadable: 0 });
    let known = await stored.all();
    if (known.size === 0) {
      await indexNewest();
      known = await stored.all(); // if a file has grown since, only its new part is read
    }
    const closed: string[] = [];
    const wanted: Wanted[] = [];
    Object.assign(counts, { done: 0, unreadable: 0 }); // files of the first page are counted again
    for (const source of sources) {
      walkTranscripts(source, {
        file(found) {
          const { state } = found;
          const row = known.get(found.path);
          const file = transcriptOf(found, row);
          if (file === null) return;
          known.delete(file.path);
          counts.total += 1;
          if (row !== undefined && isUnchanged(row, file, state)) counts.done += 1;
          else wanted.push({ file, state, isNew: row === undefined });
        },
        folder: deps.onFolder,
        closed: (path) => closed.push(`${path}/`),
      });
    }
    deps.onProgress();
    await indexAll(wanted);
    // Files in a folder that cannot be read now still exist.
    await writer.remove([...known.keys()].filter((path) => !closed.some((folder) => path.startsWith(folder))));
    deps.onProgress();
  }

  /** Visits the files at a changed path; false if it is gone. */
  function find(path: string, found: (file: FoundFile) => void): boolean {
    let exists = true;
    for (const source of sources) {
      const kind = pathKind(source, path);
      if (kind?.kind === "file") {
        const state = fileState(path, source.format);
        if (state !== null) found({ source, path, state });
        exists = state !== null;
      } else if (kind?.kind === "folder") {
        exists = false;
        const folder = (one: string): void => {
          exists = true;
          deps.onFolder(one);
        };
        walkTranscripts(source, { file: found, folder, closed: folder }, { from: path });
      }
    }
    return exists;
  }

  async function look(paths: readonly string[]): Promise<void> {
    const found = new Map<string, FoundFile>();
    const gone = paths.filter((path) => !find(path, (file) => void found.set(file.path, file)));
    const isFile = (path: string): boolean => sources.some((source) => pathKind(source, path)?.kind === "file");
    if (!gone.every(isFile)) return sweep(); // a whole folder is gone
    const known = await stored.of([...found.keys(), ...gone]);
    const wanted: Wanted[] = [];
    for (const one of found.values()) {
      const { state } = one;
      const row = known.get(one.path);
      const file = transcriptOf(one, row);
      if (file === null || (row !== undefined && isUnchanged(row, file, state))) continue;
      if (row === undefined) counts.total += 1;
      else counts.done -= 1;
      wanted.push({ file, state, isNew: row === undefined });
    }
    const removed = gone.filter((path) => known.has(path));
    await indexAll(wanted);
    if (removed.length > 0) await writer.remove(removed);
    counts.done -= removed.length;
    counts.total -= removed.length;
    deps.onProgress();
  }

  return {
    /** Checks every file and reads new or changed ones, newest first. */
    sweep,
    /** Checks these files and folders. */
    look,
    /** Forgets these sessions' content so far, now and when their transcripts are read again. */
    async forget(sessions: readonly ForgottenSession[]): Promise<void> {
      for (const session of sessions) forgotten.set(forgottenKey(session), session.at);
      const paths = await stored.pathsOf(sessions.map(({ agent, sessionId }) => ({ agent, session_id: sessionId })));
      await writer.remove(paths);
      counts.total -= paths.length;
      counts.done -= paths.length;
      await look(paths);
    },
    /** Empties the catalog, then sweeps. */
    async rebuild(): Promise<void> {
      await writer.flush();
      await database.reset();
      stored.forget();
      await sweep();
    },
    progress: (): CatalogProgress => ({ ...counts }),
  };
}

export type CatalogIndexer = ReturnType<typeof createCatalogIndexer>;
