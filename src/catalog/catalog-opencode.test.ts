import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { createOpenCodeDatabase, recordedEvents, recordedSession } from "../../test/support/opencode-database.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { catalogPlaceOf } from "../../test/support/test-catalog.ts";
import { openCode } from "../agents/opencode/opencode.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createCatalog } from "./catalog.ts";
import { createForgottenSessions } from "./forgotten-sessions.ts";
import type { CatalogSource } from "./transcript-walk.ts";

/** Longer than the catalog waits after a change before it checks. */
const restMs = 1_000;

test("the catalog settles next to OpenCode's database, even as root, and follows its changes", async () => {
  const root = await makeTempFolder();
  await mkdir(join(root, "opencode"));
  const sessions = createOpenCodeDatabase(join(root, "opencode"));
  onTestFinished(() => sessions.close());
  sessions.append(recordedSession, recordedEvents.slice(0, 60));
  const sources = openCode
    .transcriptPlaces({ HOME: root, XDG_DATA_HOME: root })
    .map((place): CatalogSource => ({ agent: "opencode", format: "opencode", ...place }));
  const store = await openSqliteTestStore();
  const forgotten = createForgottenSessions(store.db);
  const catalog = createCatalog({
    place: catalogPlaceOf(store),
    sources,
    forgotten,
    clock: systemClock,
    log: silentLog,
  });
  onTestFinished(() => catalog.close());
  catalog.start();
  const turns = async () => {
    const { db } = await catalog.database();
    return (await db.selectFrom("transcripts").select("turn_count").execute()).map(({ turn_count }) => turn_count);
  };
  await expect.poll(turns, { timeout: 15_000 }).toEqual([7]);
  // Each check by root changes this time, and nothing else of the file.
  const lookedAt = async () => (await stat(`${sessions.path}-wal`)).ctimeMs;
  const rests = async () => {
    const before = await lookedAt();
    await sleep(restMs);
    return (await lookedAt()) === before;
  };
  await expect.poll(rests, { timeout: 10_000 }).toBe(true);
  sessions.append(recordedSession, recordedEvents.slice(60));
  await expect.poll(turns, { timeout: 15_000 }).not.toEqual([7]);
}, 60_000);
