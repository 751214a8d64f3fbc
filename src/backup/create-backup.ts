import { randomBytes } from "node:crypto";
import { link, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isoTime } from "../core/clock.ts";
import { isErrno, PosternError } from "../core/errors.ts";
import { makeStateFolder } from "../platform/private-folders.ts";
import { isRunning } from "../platform/processes.ts";
import { type DatabasePlace, withRawDatabase } from "../storage/database.ts";
import { refuseNewer } from "../storage/migrate.ts";
import { copySqliteStore } from "../storage/sqlite.ts";
import { type DumpLine, dumpPostgres } from "../storage/store-rows.ts";
import { formatVersion, type Manifest, manifestName, partNameSchema, type Source, writeArchive } from "./archive.ts";

export interface BackupRequest {
  /** The backup file to create, absolute. */
  readonly file: string;
  /** The state folder. */
  readonly home: string;
  readonly store: DatabasePlace;
  /** The version of Postern, for the manifest. */
  readonly version: string;
  readonly withKey: boolean;
  readonly withRecordings: boolean;
  /** Called with a description of each step. */
  readonly progress: (step: string) => void;
}

export interface MadeBackup extends Pick<Manifest, "createdAt" | "store" | "schema" | "withKey" | "withRecordings"> {
  readonly file: string;
  readonly sizeBytes: number;
  readonly parts: readonly string[];
}

/** Names of store copies. The next backup removes copies left by killed processes. */
const draftPattern = /^making-(\d+)-[0-9a-f]+$/;

/**
 * Backs up a state folder to one file (0600), completely or not at all; the gateway can be running.
 *
 * @throws PosternError `backup_exists` | `backup_folder_missing` | `store_unavailable` | `store_newer` | `state_folder_unusable`
 */
export async function createBackup(request: BackupRequest): Promise<MadeBackup> {
  const { file, home, store, progress } = request;
  if (await exists(file)) throw taken(file);
  if (!(await exists(dirname(file)))) {
    const folder = dirname(file);
    throw new PosternError("backup_folder_missing", `${folder} does not exist. Create it with \`mkdir -p ${folder}\`.`);
  }
  await makeStateFolder(home);
  const folder = join(home, "backups");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeDeadDrafts(folder);
  const draft = join(folder, `making-${process.pid}-${randomBytes(6).toString("hex")}`);
  const archive = `${file}.${randomBytes(6).toString("hex")}.part`;
  try {
    progress("Copying the database");
    const schema = store.url === null ? await copySqliteStore(store.path, draft) : await dumpTo(draft, store);
    if (schema.length === 0)
      throw new PosternError(
        "store_unavailable",
        "There is no store to back up yet. Start the gateway once with `postern serve`.",
      );
    refuseNewer(schema, store.url === null ? store.path : "POSTERN_DATABASE_URL");
    const kind = store.url === null ? "sqlite" : "postgres";
    const sources = [
      { name: kind === "sqlite" ? "store.db" : "store.jsonl", path: draft },
      ...["config.json", ...(request.withKey ? ["key"] : []), "gateway-id"].map((name) => ({
        name,
        path: join(home, name),
      })),
      ...(request.withRecordings ? await recordingsOf(home) : []),
    ];
    progress(`Packing ${sources.length} files into ${file}`);
    const { withKey, withRecordings } = request;
    let manifest: Manifest | undefined;
    await writeArchive(archive, sources, (parts) => {
      const about = { store: kind, schema, withKey, withRecordings } as const;
      manifest = {
        ...{ format: "postern-backup", formatVersion, postern: request.version, createdAt: isoTime(Date.now()) },
        ...about,
        parts: [...parts],
      };
      return { name: manifestName, text: `${JSON.stringify(manifest, null, 2)}\n` };
    });
    if (manifest === undefined) throw new Error("The archive was written without its manifest.");
    const { size: sizeBytes } = await stat(archive);
    await place(archive, file);
    const { createdAt, parts } = manifest;
    const names = parts.map(({ name }) => name);
    return { file, sizeBytes, createdAt, store: kind, schema, withKey, withRecordings, parts: names };
  } finally {
    await rm(draft, { force: true });
    await rm(archive, { force: true });
  }
}

async function dumpTo(path: string, store: DatabasePlace): Promise<readonly string[]> {
  const file = await open(path, "wx", 0o600);
  let schema: readonly string[] = [];
  try {
    await withRawDatabase(store, async ({ db }) => {
      await dumpPostgres(
        db,
        (found) => {
          schema = found;
        },
        async (lines: readonly DumpLine[]) => {
          await file.appendFile(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
        },
      );
    });
  } finally {
    await file.close();
  }
  return schema;
}

/** Moves the finished archive into place without overwriting another file. */
async function place(archive: string, file: string): Promise<void> {
  try {
    await link(archive, file); // fails if the file exists, unlike a rename
  } catch (error) {
    if (isErrno(error, "EEXIST")) throw taken(file);
    // Some file systems have no hard links.
    if (!isErrno(error, "EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS")) throw error;
    if (await exists(file)) throw taken(file);
    await rename(archive, file);
  }
  await syncFolder(dirname(file));
}

/** Makes renames in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function recordingsOf(home: string): Promise<readonly Source[]> {
  const root = join(home, "terminal-host", "terminals");
  const sources: Source[] = [];
  for (const terminal of await namesIn(root)) {
    for (const name of await namesIn(join(root, terminal))) {
      const part = `recordings/${terminal}/${name}`;
      if (partNameSchema.safeParse(part).success) sources.push({ name: part, path: join(root, terminal, name) });
    }
  }
  return sources;
}

/** Names in a folder; none if it does not exist. */
export async function namesIn(path: string): Promise<readonly string[]> {
  return readdir(path).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  });
}

async function removeDeadDrafts(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    const pid = Number(draftPattern.exec(name.replace(/-journal$/, ""))?.[1] ?? 0);
    if (pid !== 0 && !isRunning(pid)) await rm(join(folder, name), { force: true });
  }
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => {
      if (isErrno(error, "ENOENT", "ENOTDIR")) return false;
      throw error;
    },
  );
}

function taken(file: string): PosternError {
  return new PosternError("backup_exists", `${file} already exists. Choose another name, or remove it first.`);
}
