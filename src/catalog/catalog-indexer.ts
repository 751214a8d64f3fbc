import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { BatchStore } from "./batch-store.ts";
import type { CatalogDatabase } from "./catalog-database.ts";
import { createCatalogWriter } from "./catalog-writer.ts";
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

/** How far the catalog is. */
export interface CatalogProgress {
  /** Transcripts that are stored as they are on disk. */
  readonly done: number;
  /** Transcripts found. */
  readonly total: number;
  /** Files that may not or cannot be read. */
  readonly unreadable: number;
  /** Bytes read since the indexer was made. */
  readonly readBytes: number;
}

/** Brings the catalog up to what is on disk. Calls must not overlap. */
export interface CatalogIndexer {
  /** Looks at every file, and reads those that are new or have changed, the newest first. */
  sweep(): Promise<void>;
  /** Looks at these files and folders only. */
  look(paths: readonly string[]): Promise<void>;
  /** Forgets what was said in these sessions, now and in all that it does later: their transcripts are read without it. */
  forget(sessions: readonly ForgottenSession[]): Promise<void>;
  /** Forgets everything, then sweeps. */
  rebuild(): Promise<void>;
  progress(): CatalogProgress;
}

/** What {@link createCatalogIndexer} needs. */
export interface CatalogIndexerDeps {
  /** Read from, and emptied. */
  readonly database: CatalogDatabase;
  /** Written to. */
  readonly store: BatchStore;
  readonly sources: readonly CatalogSource[];
  readonly createCollector: CreateCollector;
  /** What was forgotten before. */
  readonly forgotten: readonly ForgottenSession[];
  readonly clock: Clock;
  readonly log: Log;
  /** Called when more is stored, or more is known of what there is. */
  onProgress(): void;
  /** Called with each folder in which transcripts may appear. */
  onFolder(path: string): void;
}

/** Reading files holds the process; while one waits for the store another is read. */
const scansAtOnce = 2;
/** So many files of each agent are looked at for the first page of an empty catalog, before all are. */
const quickLookFiles = 200;
const quickPage = 24;

interface Wanted {
  readonly file: TranscriptFile;
  readonly state: FileState;
  /** Nothing of this path is stored. */
  readonly isNew: boolean;
}

/** An indexer without a timer or a process of its own. */
export function createCatalogIndexer(deps: CatalogIndexerDeps): CatalogIndexer {
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
      log.warn({ reason: messageOf(error), path: file.path }, "a transcript cannot be read");
      return "unreadable" as const;
    });
    if (end === "gone") await writer.remove([file.path]);
    if (end !== "unreadable") return;
    counts.unreadable += 1;
    const row = { ...rowOf(file, { transcriptId, state }), unreadable: 1 };
    await writer.put({ row, texts: [], from: "again" });
  }

  /** Reads the files, newest first. */
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

  /** The newest page, read before all files are even found. */
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
      known = await stored.all(); // one that has grown since is read on
    }
    const closed: string[] = [];
    const wanted: Wanted[] = [];
    Object.assign(counts, { done: 0, unreadable: 0 }); // those of the first page are met again
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
    // What lies in a folder that cannot be looked into now is not gone.
    await writer.remove([...known.keys()].filter((path) => !closed.some((folder) => path.startsWith(folder))));
    deps.onProgress();
  }

  /** What there is at a path that changed, files of a folder included; false when a folder is gone. */
  function find(path: string, found: (file: FoundFile) => void): boolean {
    let there = true;
    for (const source of sources) {
      const kind = pathKind(source, path);
      if (kind?.kind === "file") {
        const state = fileState(path, source.format);
        if (state !== null) found({ source, path, state });
        there = state !== null;
      } else if (kind?.kind === "folder") {
        there = false;
        const folder = (one: string): void => {
          there = true;
          deps.onFolder(one);
        };
        walkTranscripts(source, { file: found, folder, closed: folder }, { from: path });
      }
    }
    return there;
  }

  async function look(paths: readonly string[]): Promise<void> {
    const found = new Map<string, FoundFile>();
    const gone = paths.filter((path) => !find(path, (file) => void found.set(file.path, file)));
    const isFile = (path: string): boolean => sources.some((source) => pathKind(source, path)?.kind === "file");
    if (!gone.every(isFile)) return sweep(); // a whole folder went
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
    sweep,
    look,
    async forget(sessions) {
      for (const session of sessions) forgotten.set(forgottenKey(session), session.at);
      const paths = await stored.pathsOf(sessions.map(({ agent, sessionId }) => ({ agent, session_id: sessionId })));
      await writer.remove(paths);
      counts.total -= paths.length;
      counts.done -= paths.length;
      await look(paths);
    },
    async rebuild() {
      await writer.flush();
      await database.reset();
      stored.forget();
      await sweep();
    },
    progress: () => ({ ...counts }),
  };
}
