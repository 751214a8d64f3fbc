import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../../src/storage/database.ts";
import { createTestStoreUrl } from "./postgres.ts";
import { makeTestFolder } from "./test-folder.ts";

/** A store of one test. */
export interface TestStore extends Database {
  /** What opens this store once more, here or in another process. */
  readonly place: Pick<DatabaseOptions, "url" | "path">;
  /** One more connection to the same store, closed with the test. */
  openAgain(): Promise<Database>;
}

/** Opens a new empty store, which is closed and removed when the running test ends. */
export type OpenTestStore = () => Promise<TestStore>;

/** Runs `suite` twice: on SQLite and on PostgreSQL. Each test opens its own store. */
export function describeOnBothStores(title: string, suite: (openStore: OpenTestStore) => void): void {
  describe(`${title}, on SQLite`, () => suite(openSqliteTestStore));
  describe(`${title}, on PostgreSQL`, () => suite(openPostgresTestStore));
}

/** @see OpenTestStore */
export async function openSqliteTestStore(): Promise<TestStore> {
  const folder = makeTestFolder("store");
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return open({ url: null, path: join(folder, "state.db") });
}

/** @see OpenTestStore */
export async function openPostgresTestStore(): Promise<TestStore> {
  return open({ url: await createTestStoreUrl(), path: "unused" });
}

async function open(place: TestStore["place"]): Promise<TestStore> {
  const openAgain = async (): Promise<Database> => {
    const database = await openDatabase({ ...place, log: silentLog });
    onTestFinished(() => database.close()); // hooks run last first: before the folder goes
    return database;
  };
  return { ...(await openAgain()), place, openAgain };
}
