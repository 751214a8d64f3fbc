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
import type { Manifest } from "./archive.ts";
import { exists, namesIn } from "./create-backup.ts";
import { type Replayed, type ReplayPorts, type RestoredStore, replayDeletions } from "./replay.ts";
import { asideFolder, finishRestore, swapState } from "./swap.ts";
import { pathInState, unpackBackup } from "./unpack.ts";

export interface RestoreRequest {
  /** The backup, absolute. */
  readonly file: string;
  /** The state folder. */
  readonly home: string;
  /** `POSTERN_DATABASE_URL`, which overrides the restored `config.json`; null if not set. */
  readonly databaseUrl: string | null;
  /** Whether to move an existing state aside. */
  readonly replace: boolean;
  /** Whether to repeat deletions and revocations that the current store has recorded since. */
  readonly replay: boolean;
  readonly ports: ReplayPorts;
  /** Called with a description of each step. */
  readonly progress: (step: string) => void;
}

export interface RestoredBackup extends Omit<Manifest, "format" | "formatVersion" | "postern" | "parts"> {
  readonly home: string;
  /** Where the previous state is; null when there was none. */
  readonly before: {
    readonly folder: string | null;
    /** Its schema on PostgreSQL. */
    readonly schema: string | null;
  } | null;
  /** What was not restored; null if there was no previous store to read it from. */
  readonly replayed: Replayed | null;
}

/** Excludes sockets, locks, hook inboxes and running terminals. */
const stateFiles = ["postern.db", "config.json", "key", "gateway-id"];
/** The store with its journals, and the catalog, which is rebuilt. */
const storeFiles = ["postern.db", "postern.db-wal", "postern.db-shm", "catalog.db", "catalog.db-wal", "catalog.db-shm"];

/**
 * Restores a state folder and its store from a backup, completely or not at all.
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
    if (aside !== null) await rmdir(aside).catch(() => undefined); // not empty
    throw error;
  }
  const { createdAt, store, schema, withKey, withRecordings } = manifest;
  const before = aside === null && restored.aside === null ? null : { folder: aside, schema: restored.aside };
  return { home, createdAt, store, schema, withKey, withRecordings, before, replayed: restored.replayed };
}

interface Prepared {
  readonly replayed: Replayed | null;
  /** The schema with the previous tables. */
  readonly aside: string | null;
  /** Terminals in the restored store. */
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
      await dropSpent(restored);
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
    await sql`vacuum`.execute(db); // erases deleted rows
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
      await dropSpent(restored);
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

/** Splits at line feeds only: `readline` also splits at characters that texts contain. */
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
      `Cannot read later deletions from the current database: ${messageOf(error)}. Nothing was changed. Use \`--without-replay\` to restore deleted data too.`,
      { cause: error },
    );
  }
}

/** Queued prompts may have been sent since the backup, and sign-in links used. */
async function dropSpent({ db }: RestoredStore): Promise<void> {
  await db.updateTable("queued_prompts").set({ state: "unknown" }).where("state", "in", ["queued", "sent"]).execute();
  await db.deleteFrom("sign_in_links").execute();
}

async function terminalsOf({ db }: RestoredStore): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom("recordings").select("terminal_id").distinct().execute();
  return new Set(rows.map(({ terminal_id }) => terminal_id));
}

/** Paths of recordings to restore, except for forgotten sessions. */
async function keepRecordings(staged: string, terminals: ReadonlySet<string>): Promise<readonly string[]> {
  const names = await namesIn(join(staged, "terminal-host", "terminals"));
  return names.filter((name) => terminals.has(name)).map((name) => `terminal-host/terminals/${name}`);
}

async function presentState(home: string): Promise<readonly string[]> {
  const names = await namesIn(home);
  return stateFiles.filter((name) => names.includes(name));
}

/** What to move aside. The key stays if the backup has none: it may be the right one. */
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
      "The backup is of an SQLite database, but PostgreSQL is configured. Unset POSTERN_DATABASE_URL to restore it.",
    );
  }
  if (store === "postgres" && url === null) {
    throw new PosternError(
      "backup_other_store",
      "The backup is of a PostgreSQL database. Set POSTERN_DATABASE_URL to the database to restore into.",
    );
  }
}

function notEmpty(place: string, what: string): PosternError {
  return new PosternError(
    "home_not_empty",
    `${place} is not empty (${what}). Use \`--replace\` to move the existing state aside.`,
  );
}

function timeLabel(): string {
  return new Date().toISOString().slice(0, 23).replaceAll(/[:.]/g, "-");
}
