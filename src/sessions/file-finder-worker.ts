// Lists and searches the files of directories for completion, away from the gateway's own thread.
import { realpath } from "node:fs/promises";
import { setImmediate as nextTask } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { z } from "zod";
import { messageOf } from "../core/errors.ts";
import { createSingleFlight } from "../core/single-flight.ts";
import { createGit } from "../platform/git-command.ts";
import type { FileAnswer, FileSearch } from "./file-finder.ts";
import { createInside, type FileList, listFiles, maxPaths } from "./file-list.ts";
import { buildPathIndex, type PathIndex } from "./path-index.ts";

const { pathVariable, home, marker } = z
  .object({
    pathVariable: z.string(),
    home: z.string(),
    marker: z.object({ name: z.string(), value: z.string() }),
  })
  .parse(workerData);
const git = createGit({ pathVariable, marker });
/** Postern's own files. */
const hidden = await realpath(home);

interface Indexed {
  readonly list: FileList;
  readonly index: PathIndex;
  readonly inside: (path: string) => Promise<string | null>;
  readonly builtAt: number;
  readonly buildMs: number;
}

/** Least recently used first. */
const known = new Map<string, Indexed>();
const maxDirs = 12;
/** Paths in all indexes together; `maxPaths` take about 60 MB. Beyond this, the least recently used directories are forgotten. */
const maxAllPaths = 2 * maxPaths;
/** An index is rebuilt once it is older than this and than ten times its build time, so that a large directory uses at most a tenth of a CPU. */
const freshMs = 3_000;
const buildsPerAge = 10;
/** Some of the best matches may have been deleted, or lead outside the directory. */
const candidatesPerShown = 3;

const building = createSingleFlight<Indexed>();

function build(dir: string): Promise<Indexed> {
  return building(dir, async () => {
    const startedAt = performance.now();
    const before = known.get(dir) ?? null;
    const list = await listFiles({ dir, git, hidden, known: before?.list ?? null, pause });
    const index = before?.list === list ? before.index : await buildPathIndex(list.paths, list.recent, pause);
    const builtAt = performance.now();
    const indexed = { list, index, inside: createInside(dir, hidden), builtAt, buildMs: builtAt - startedAt };
    remember(dir, indexed);
    return indexed;
  });
}

/** A search waits for one step of an index that is being built. */
const stepMs = 4;
let pausedAt = 0;

/** Lets searches run, unless there was a pause a moment ago. */
async function pause(): Promise<void> {
  if (performance.now() - pausedAt < stepMs) return;
  await nextTask();
  pausedAt = performance.now();
}

function remember(dir: string, indexed: Indexed): void {
  known.delete(dir);
  known.set(dir, indexed);
  let all = [...known.values()].reduce((sum, { index }) => sum + index.size, 0);
  for (const [old, { index }] of known) {
    if (old === dir || (known.size <= maxDirs && all <= maxAllPaths)) break;
    known.delete(old);
    all -= index.size;
  }
}

async function find({ dir, query, limit }: FileSearch): Promise<Pick<FileAnswer, "paths" | "truncated">> {
  const before = known.get(dir);
  const indexed = before ?? (await build(dir));
  if (before !== undefined) {
    remember(dir, before);
    const ageMs = performance.now() - before.builtAt;
    // This search uses the old index. An error is reported only if there is no index.
    if (ageMs > Math.max(freshMs, before.buildMs * buildsPerAge)) build(dir).catch(() => known.delete(dir));
  }
  const { paths, total } = indexed.index.search(query, limit * candidatesPerShown);
  const shown = await Promise.all(paths.map(indexed.inside));
  const inside = shown.filter((path) => path !== null);
  return {
    paths: inside.slice(0, limit),
    truncated: indexed.list.truncated || inside.length > limit || total > paths.length,
  };
}

parentPort?.on("message", (search: FileSearch) => {
  find(search).then(
    (found) => parentPort?.postMessage({ id: search.id, failed: null, ...found } satisfies FileAnswer),
    (error: unknown) =>
      parentPort?.postMessage({
        id: search.id,
        failed: messageOf(error),
        paths: [],
        truncated: true,
      } satisfies FileAnswer),
  );
});
