import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createBackup, restoreBackup } from "../../src/backup/index.ts";
import { silentLog } from "../../src/core/log.ts";
import { removeAllLogs, removeLogs } from "../../src/logs/index.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import type { TestStore } from "./database.ts";
import { addAccount, openTestLogs } from "./logs.ts";
import { createTestDatabaseUrl } from "./postgres.ts";
import { makeTestFolder } from "./test-folder.ts";

/** A state folder with its store. */
export interface Home {
  readonly home: string;
  readonly url: string | null;
  open(): Promise<Database>;
}

/** An empty one, removed with the test. */
export async function newHome(dialect: "sqlite" | "postgres"): Promise<Home> {
  const root = makeTestFolder("backup");
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const home = join(root, "home");
  await mkdir(home, { mode: 0o700 });
  const url = dialect === "postgres" ? await createTestDatabaseUrl() : null;
  return {
    home,
    url,
    async open() {
      const opened = await openDatabase({ url, path: join(home, "postern.db"), log: silentLog });
      onTestFinished(() => opened.close());
      return opened;
    },
  };
}

/** One with a configuration, a key, an account and its memory; the store is open. */
export async function filledHome(dialect: "sqlite" | "postgres") {
  const place = await newHome(dialect);
  await writeFile(join(place.home, "config.json"), '{"port":0}');
  await writeFile(join(place.home, "key"), "k".repeat(43));
  await writeFile(join(place.home, "gateway-id"), "gateway-1");
  const opened = await place.open();
  const store: TestStore = {
    ...opened,
    place: { url: place.url, path: join(place.home, "postern.db") },
    openAgain: place.open,
  };
  const me = await addAccount(store);
  return { ...place, store, me, logs: await openTestLogs(store) };
}

const common = { progress: () => undefined };

/** By default with the key and without recordings. */
export function backUp(
  { home, url }: Home,
  file: string,
  options: { readonly withKey?: boolean; withRecordings?: boolean } = {},
) {
  const store = { url, path: join(home, "postern.db") };
  return createBackup({
    ...{ file, home, store, version: "0.0.0-test", withKey: true, withRecordings: false, ...common },
    ...options,
  });
}

/** By default without replacing an existing state, and repeating what was deleted since the backup. */
export function restore({ home, url }: Home, file: string, options: { replace?: boolean; replay?: boolean } = {}) {
  return restoreBackup({
    ...{ file, home, databaseUrl: url, replace: false, replay: true, ports: { removeLogs, removeAllLogs }, ...common },
    ...options,
  });
}

/** The titles of all memory entries, in order. */
export async function titles(database: Database): Promise<readonly (string | null)[]> {
  const rows = await database.db.selectFrom("log_entries").select("title").orderBy("title").execute();
  return rows.map(({ title }) => title);
}
