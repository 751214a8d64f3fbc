import { mkdir, readdir, rmdir, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { isErrno } from "../core/errors.ts";
import { newUuid, sha256 } from "../core/ids.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { GitError } from "../platform/git-command.ts";
import { createGitScratch } from "../platform/git-scratch.ts";
import { readSmallFile } from "../platform/regular-file.ts";
import { sizesOf } from "./compare.ts";
import { differingInWorkTree } from "./differing.ts";
import { gitUntil, lineOf, ownObjects } from "./git-workshop.ts";
import { putEntries, putWorkFiles } from "./patches.ts";
import { type DiffOf, type Look, type SessionDiffDeps, sidesOf } from "./session-diff.ts";
import { removeTree } from "./worktree-files.ts";

/** The account that looked, and the session. */
export interface LookKey {
  readonly sessionId: string;
  readonly accountId: string;
}

/** The files of each session as each account last saw them. Changes nothing in a repository, and runs no code from it. */
export interface Looks {
  /**
   * Records the files as they are now. If nothing changed since the last look, the comparison does not change on a page reload.
   * @returns what {@link Looks.compared} compares with from now on; null at the first look, and if there is too much to remember
   */
  look(key: LookKey, of: DiffOf): Promise<Look | null>;
  /**
   * Records the files as they are now as what {@link Looks.compared} compares with; until it has, there is nothing to compare with. Records fewer
   * files than a look. @param find is called in turn
   */
  begin(key: LookKey, find: () => Promise<DiffOf>): Promise<void>;
  /** When {@link Looks.compared} has files to compare with: when they were recorded. Waits for nothing. */
  recordedAt(key: LookKey): Promise<number | null>;
  /** Deletes what was recorded under this key. */
  drop(key: LookKey): Promise<void>;
  /** Runs a comparison with the look before the last one, which is kept until the comparison has ended. */
  compared<T>(key: LookKey, compare: (look: Look | null) => Promise<T>): Promise<T>;
  /** Deletes all looks at a session, given all its ids. */
  forget(sessionIds: readonly string[]): Promise<void>;
}

const withinMs = 20_000;
/** The most uncommitted files and bytes of a look. With more, no look is recorded, and the page does not offer the comparison. */
const lookLimits = { maxFiles: 5_000, maxTotalBytes: 64 * 1024 * 1024 };
/** The same for what is recorded without a request. */
const beginLimits = { maxFiles: 2_000, maxTotalBytes: 16 * 1024 * 1024 };
const maxFileBytes = 8 * 1024 * 1024;
/** Looks are kept only for the last sessions that were looked at: this many. */
const maxSessions = 100;

const storedSchema = z.object({ id: z.uuid(), tree: z.string().regex(/^[0-9a-f]{40,64}$/), at: z.number() });
const looksSchema = z.object({ base: storedSchema.nullable(), latest: storedSchema.nullable() });
type Stored = z.infer<typeof storedSchema>;
type StoredLooks = z.infer<typeof looksSchema>;

/** @see Looks */
export function createLooks({
  workshop,
  clock,
  gate,
  home,
  folder = "looks",
}: SessionDiffDeps & {
  /** The state folder. */
  readonly home: string;
  /** Its folder for these looks. */
  readonly folder?: string;
}): Looks {
  const root = join(home, folder);
  const lock = createKeyedLock();
  const folderOf = (sessionId: string): string => join(root, sha256(sessionId).slice(0, 32));
  const placeOf = ({ sessionId, accountId }: LookKey): string =>
    join(folderOf(sessionId), sha256(accountId).slice(0, 32));
  const shown = (place: string, { id, tree, at }: Stored): Look => ({ tree, at, objects: join(place, id) });

  /** Writes the files of a work tree as a tree. @returns null if there is too much, or no work tree */
  async function treeOf(of: DiffOf, objects: string, { maxFiles, maxTotalBytes } = lookLimits): Promise<string | null> {
    const git = gitUntil(workshop.git, { clock, withinMs });
    const { commonDir, other } = await sidesOf(git, of);
    if (other.kind !== "work tree") return null;
    const { path, head, gitDir } = other;
    const scratch = await createGitScratch(git, { commonDir, folder: workshop.scratchFolder() });
    try {
      const own = ownObjects(git, commonDir);
      const at = { ...scratch.at(path), objectDir: objects };
      const base = head ?? (await own.emptyTree(at));
      const found = await differingInWorkTree(own, at, { base, head, gitDir });
      if (found.length > maxFiles) return null;
      const sized = await sizesOf(own, at, { path, files: found, maxFileBytes });
      const bytes = sized.map(({ sizeBytes, isRepository }) => (isRepository ? 0 : sizeBytes));
      const total = bytes.reduce((sum: number, size) => sum + (size ?? Number.POSITIVE_INFINITY), 0);
      if (total > maxTotalBytes) return null;
      const seen = { ...at, indexFile: join(scratch.folder, "index.seen") };
      await own.must(["read-tree", base], { at: seen });
      const known = sized.filter(({ other: side }) => side !== "unknown");
      await putEntries(
        own,
        seen,
        known.map(({ name, other: side }) => ({ name, side: side === "unknown" ? null : side })),
      );
      const files = sized.filter(({ other: side, isRepository }) => side === "unknown" && !isRepository);
      await putWorkFiles(
        own,
        seen,
        files.map(({ name }) => name),
      );
      return lineOf(await own.must(["write-tree", "--missing-ok"], { at: seen }));
    } catch (error) {
      if (error instanceof GitError) return null; // files that change meanwhile; the next look tries again
      throw error;
    } finally {
      await scratch.close();
    }
  }

  async function storedAt(place: string): Promise<StoredLooks> {
    const bytes = await readSmallFile(join(place, "looks.json"), 4_096);
    const none = { base: null, latest: null };
    if (bytes === null || bytes === "too_large") return none;
    const parsed = looksSchema.safeParse(parsedJson(bytes.toString("utf8")));
    return parsed.success ? parsed.data : none;
  }

  /** Removes the objects of looks that are no longer known, and those of an interrupted look. */
  async function clean(place: string, { base, latest }: StoredLooks): Promise<void> {
    const kept = new Set(["looks.json", base?.id, latest?.id]);
    for (const name of await namesIn(place)) if (!kept.has(name)) await removeTree(join(place, name));
  }

  async function removePlace(key: LookKey): Promise<void> {
    await removeTree(placeOf(key));
    await rmdir(folderOf(key.sessionId)).catch(() => undefined); // it stays if another account has looked
  }

  async function dropOldest(): Promise<void> {
    const names = await namesIn(root);
    if (names.length <= maxSessions) return;
    const dated = await Promise.all(names.map(async (name) => ({ name, at: await changedAt(join(root, name)) })));
    for (const { name } of dated.toSorted((a, b) => b.at - a.at).slice(maxSessions)) await removeTree(join(root, name));
  }

  return {
    begin: (key, find) =>
      lock.run(key.sessionId, async () => {
        const place = placeOf(key);
        await removePlace(key);
        const startedAt = clock.now();
        await gate.run(async () => {
          const of = await find();
          const id = newUuid();
          await mkdir(join(place, id), { recursive: true, mode: 0o700 });
          const tree = await treeOf(of, join(place, id), beginLimits).catch(async (error: unknown) => {
            await removePlace(key);
            throw error;
          });
          // After that time, the files may be those of the turn itself.
          if (tree === null || clock.now() - startedAt > withinMs) return removePlace(key);
          const base = { id, tree, at: startedAt };
          await writeFileAtomic(join(place, "looks.json"), JSON.stringify({ base, latest: null }));
          await utimes(folderOf(key.sessionId), clock.now() / 1_000, clock.now() / 1_000);
          return dropOldest();
        });
      }),

    recordedAt: async (key) => (await storedAt(placeOf(key))).base?.at ?? null,

    drop: (key) => lock.run(key.sessionId, () => removePlace(key)),

    look: (key, of) =>
      lock.run(key.sessionId, () =>
        gate.run(async () => {
          const place = placeOf(key);
          const before = await storedAt(place);
          await clean(place, before);
          const id = newUuid();
          await mkdir(join(place, id), { recursive: true, mode: 0o700 });
          const tree = await treeOf(of, join(place, id));
          // Files that cannot be recorded must not appear unchanged later.
          const latest = tree === null ? null : { id, tree, at: clock.now() };
          const isSame = tree !== null && before.latest?.tree === tree;
          const next = isSame ? before : { base: latest && before.latest, latest };
          await writeFileAtomic(join(place, "looks.json"), JSON.stringify(next));
          await clean(place, next);
          // Changes of files inside a folder do not update the folder's own time.
          await utimes(folderOf(key.sessionId), clock.now() / 1_000, clock.now() / 1_000);
          await dropOldest();
          return next.base && shown(place, next.base);
        }),
      ),

    compared: (key, compare) =>
      lock.run(key.sessionId, async () => {
        const place = placeOf(key);
        const { base } = await storedAt(place);
        return compare(base && shown(place, base));
      }),

    async forget(sessionIds) {
      for (const sessionId of sessionIds) await lock.run(sessionId, () => removeTree(folderOf(sessionId)));
    },
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // damaged: as if nothing was seen
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

async function changedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return 0; // removed meanwhile
    throw error;
  }
}
