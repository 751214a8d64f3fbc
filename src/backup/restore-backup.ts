import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readFile, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import { z } from "zod";
import { messageOf, PosternError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import { makeStateFolder } from "../platform/private-folders.ts";
import { type DatabasePlace, openDatabase, withRawDatabase } from "../storage/database.ts";
import { acquireProcessLock } from "../storage/process-lock.ts";
import { type DumpLine, loadPostgres, moveTablesAside, ownTables } from "../storage/store-rows.ts";
import { exists, namesIn } from "./create-backup.ts";
import type { Manifest } from "./manifest.ts";
import { type Replayed, type ReplayPorts, type RestoredStore, replayDeletions } from "./replay.ts";
import { asideFolder, finishRestore, swapState } from "./swap.ts";
import { pathInState, unpackBackup } from "./unpack.ts";

/** What is restored, and over what. */
export interface RestoreRequest {
  /** The backup, absolute. */
  readonly file: string;
  /** The state folder. */
  readonly home: string;
  /** `POSTERN_DATABASE_URL`, which wins over what the restored `config.json` says; null when it is not set. */
  readonly databaseUrl: string | null;
  /** Whether a state that is there may be moved aside. */
  readonly replace: boolean;
  /** Whether what was deleted and revoked since is taken from the present store. */
  readonly replay: boolean;
  readonly ports: ReplayPorts;
  /** Called with what is being done, in words. */
  readonly progress: (words: string) => void;
}

/** A backup that was restored. */
export interface RestoredBackup extends Omit<Manifest, "format" | "formatVersion" | "postern" | "parts"> {
  readonly home: string;
  /** Where the state of before is; null when there was none. */
  readonly before: {
    readonly folder: string | null;
    /** On PostgreSQL the schema with its tables. */
    readonly schema: string | null;
  } | null;
  /** What did not come back; null when there was no store that knew. */
  readonly replayed: Replayed | null;
}

/** The files that make a state folder. Sockets, locks, hook inboxes and running terminals are no state that a restore replaces. */
const stateFiles = ["postern.db", "config.json", "key", "gateway-id"];
/** They go with the store: its journals, and the catalog, which is built again. */
const storeFiles = ["postern.db", "postern.db-wal", "postern.db-shm", "catalog.db", "catalog.db-wal", "catalog.db-shm"];

/**
 * Puts a state folder, and its store, back to what a backup holds, whole or not at all.
 *
 * @throws PosternError `gateway_running` | `home_not_empty` | `backup_unreadable` | `backup_other_store` | `replay_failed` | `store_newer` |
 * `store_unavailable` | `state_folder_unusable`
 */
export async function restoreBackup(request: RestoreRequest): Promise<RestoredBackup> {
  const { file, home } = request;
  if (!(await exists(file)))
    throw new PosternError("backup_unreadable", `${file} does not exist. Pass the path of a backup.`);
  await makeStateFolder(home);
  await finishRestore(home);
  const lock = acquireProcessLock(join(home, "gateway.lock"));
  try {
    const present = await presentState(home);
    if (present.length > 0 && !request.replace) throw notEmpty(home, present.join(", "));
    const staging = `restoring-${randomBytes(6).toString("hex")}`;
    await mkdir(join(home, staging), { mode: 0o700 });
    try {
      return await restoreFrom(staging, request);
    } finally {
      if (!(await exists(join(home, "restore.json")))) {
        await rm(join(home, staging), { recursive: true, force: true });
      }
    }
  } finally {
    lock.close();
  }
}

async function restoreFrom(staging: string, request: RestoreRequest): Promise<RestoredBackup> {
  const { file, home, progress } = request;
  const staged = join(home, staging);
  progress(`unpacking and verifying ${file}`);
  const manifest = await unpackBackup(file, staged);
  const url = request.databaseUrl ?? (await databaseUrlOf(staged));
  checkKind(manifest, url);
  const label = timeLabel();
  progress("upgrading the backup's store to this version");
  const restored =
    url === null
      ? await prepareSqlite(staged, request)
      : await loadIntoPostgres(url, { staged, label, manifest, request });
  const terminals = await keepRecordings(staged, restored.terminals);
  const parts = manifest.parts.map(({ name }) => pathInState(name));
  const coming = [...parts.filter((name) => !name.includes("/") && name !== "store.jsonl"), ...terminals];
  const going = await goingFrom(home, { coming, hasStore: url === null });
  const aside = going.length > 0 ? await asideFolder(home, label) : null;
  try {
    progress("switching to the restored state");
    await swapState(home, { staging, aside: aside ?? join(home, staging, "nothing"), going, coming });
  } catch (error) {
    if (aside !== null) await rmdir(aside).catch(() => undefined); // something is in it: then it stays
    throw error;
  }
  const { createdAt, store, schema, withKey, withRecordings } = manifest;
  const before = aside === null && restored.aside === null ? null : { folder: aside, schema: restored.aside };
  return { home, createdAt, store, schema, withKey, withRecordings, before, replayed: restored.replayed };
}

/** What is learned while a store is restored. */
interface Prepared {
  readonly replayed: Replayed | null;
  /** The schema with the tables of before. */
  readonly aside: string | null;
  /** Terminals that the restored store speaks of. */
  readonly terminals: ReadonlySet<string>;
}

async function prepareSqlite(staged: string, request: RestoreRequest): Promise<Prepared> {
  const path = join(staged, "postern.db");
  const present: DatabasePlace = { url: null, path: join(request.home, "postern.db") };
  const { db, close } = await openDatabase({ url: null, path, log: silentLog });
  try {
    await sql`pragma secure_delete = on`.execute(db);
    const replays = request.replay && (await exists(present.path));
    const replayed = await db.transaction().execute(async (trx) => {
      const restored = { db: trx, dialect: "sqlite" } as const;
      await neverTwice(restored);
      if (!replays) return null;
      return replaying(() =>
        withRawDatabase(present, async (raw) => {
          const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(
            raw.db,
          );
          const tables = new Set(rows.map(({ name }) => name));
          return replayDeletions({ db: raw.db, tables, schema: null }, restored, request.ports);
        }),
      );
    });
    await sql`vacuum`.execute(db); // nothing of what did not come back is left between the pages
    return { replayed, aside: null, terminals: await terminalsOf({ db, dialect: "sqlite" }) };
  } finally {
    await close();
  }
}

async function loadIntoPostgres(
  url: string,
  work: {
    readonly staged: string;
    readonly label: string;
    readonly manifest: Manifest;
    readonly request: RestoreRequest;
  },
): Promise<Prepared> {
  const { staged, label, manifest, request } = work;
  return withRawDatabase({ url, path: "" }, ({ db }) =>
    db.transaction().execute(async (trx) => {
      const restored = { db: trx, dialect: "postgres" } as const;
      const present = await ownTables(trx);
      const aside = present.length > 0 ? `before_restore_${label.replaceAll(/\D/g, "")}` : null;
      if (aside !== null) {
        if (!request.replace) throw notEmpty("POSTERN_DATABASE_URL", present.slice(0, 3).join(", "));
        await moveTablesAside(trx, aside);
      }
      await loadPostgres(trx, manifest.schema, linesOf(join(staged, "store.jsonl")));
      await neverTwice(restored);
      const replayed =
        aside === null || !request.replay
          ? null
          : await replaying(() =>
              replayDeletions({ db: trx, tables: new Set(present), schema: aside }, restored, request.ports),
            );
      await rm(join(staged, "store.jsonl"));
      return { replayed, aside, terminals: await terminalsOf(restored) };
    }),
  );
}

/** Lines end at line feeds only: a text may hold what Node's `readline` takes for the end of one. */
async function* linesOf(path: string): AsyncGenerator<DumpLine> {
  let rest = "";
  for await (const chunk of createReadStream(path, "utf8")) {
    const lines = `${rest}${chunk}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield lineSchema.parse(JSON.parse(line));
  }
}

const lineSchema = z.union([
  z.object({ table: z.string(), columns: z.array(z.string()).readonly() }),
  z.array(z.union([z.string(), z.number(), z.null()])),
]);

async function replaying(task: () => Promise<Replayed>): Promise<Replayed> {
  try {
    return await task();
  } catch (error) {
    throw new PosternError(
      "replay_failed",
      `What was deleted since the backup cannot be learned from the present store, and would come back: ${messageOf(error)}. Nothing was changed. \`--without-replay\` restores all the same.`,
      { cause: error },
    );
  }
}

/** A prompt that waited when the backup was made may have been sent since; a link to sign in was used, or has expired. */
async function neverTwice({ db }: RestoredStore): Promise<void> {
  await db.updateTable("queued_prompts").set({ state: "unknown" }).where("state", "in", ["queued", "sent"]).execute();
  await db.deleteFrom("sign_in_links").execute();
}

async function terminalsOf({ db }: RestoredStore): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom("recordings").select("terminal_id").distinct().execute();
  return new Set(rows.map(({ terminal_id }) => terminal_id));
}

/** Paths of recordings that come: not those of sessions that were forgotten. */
async function keepRecordings(staged: string, terminals: ReadonlySet<string>): Promise<readonly string[]> {
  const names = await namesIn(join(staged, "terminal-host", "terminals"));
  return names.filter((name) => terminals.has(name)).map((name) => `terminal-host/terminals/${name}`);
}

async function presentState(home: string): Promise<readonly string[]> {
  const names = await namesIn(home);
  return stateFiles.filter((name) => names.includes(name));
}

/** What makes room. The key stays where the backup brings none: it may be the right one. */
async function goingFrom(
  home: string,
  { coming, hasStore }: { readonly coming: readonly string[]; readonly hasStore: boolean },
): Promise<readonly string[]> {
  const candidates = new Set([...coming, "config.json", "gateway-id", ...(hasStore ? storeFiles : [])]);
  const there = await Promise.all(
    [...candidates].map(async (name) => ((await exists(join(home, name))) ? [name] : [])),
  );
  return there.flat();
}

async function databaseUrlOf(staged: string): Promise<string | null> {
  const path = join(staged, "config.json");
  if (!(await exists(path))) return null;
  const text = await readFile(path, "utf8");
  const parsed = z.looseObject({ databaseUrl: z.string().optional() }).safeParse(JSON.parse(text));
  return parsed.data?.databaseUrl ?? null;
}

function checkKind({ store }: Manifest, url: string | null): void {
  if (store === "sqlite" && url !== null) {
    throw new PosternError(
      "backup_other_store",
      "The backup is of a store in the state folder, and the configuration names PostgreSQL. Unset POSTERN_DATABASE_URL to restore it.",
    );
  }
  if (store === "postgres" && url === null) {
    throw new PosternError(
      "backup_other_store",
      "The backup is of a store on PostgreSQL. Set POSTERN_DATABASE_URL to the address of the database that it goes into.",
    );
  }
}

function notEmpty(place: string, what: string): PosternError {
  return new PosternError(
    "home_not_empty",
    `${place} holds a state already (${what}). \`--replace\` moves it aside, where it stays, and restores.`,
  );
}

function timeLabel(): string {
  return new Date().toISOString().slice(0, 23).replaceAll(/[:.]/g, "-");
}
