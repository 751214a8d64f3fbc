import { statSync } from "node:fs";
import { appendFile, copyFile, mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { describeOnBothStores, openSqliteTestStore, type TestStore } from "../../test/support/database.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { catalogPlaceOf } from "../../test/support/test-catalog.ts";
import { claudeCode } from "../agents/claude-code/claude-code.ts";
import { systemClock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import { type Log, silentLog } from "../core/log.ts";
import { type Catalog, createCatalog } from "./catalog.ts";
import { createForgottenSessions } from "./forgotten-sessions.ts";
import type { CatalogSource } from "./transcript-walk.ts";

const fixture = join(import.meta.dirname, "../transcripts/fixtures/claude-2.1.329-tools.jsonl");
const patience = { timeout: 30_000, interval: 20 };

// A process takes longer on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

interface World {
  readonly root: string;
  readonly store: TestStore;
  path(project: string, id?: string): string;
  open(log?: Log): Catalog;
}

async function makeWorld(store: TestStore): Promise<World> {
  const root = await makeTempFolder();
  const sources = claudeCode
    .transcriptPlaces({ CLAUDE_CONFIG_DIR: root })
    .map((place): CatalogSource => ({ agent: "claude-code", format: "claude", ...place }));
  const place = catalogPlaceOf(store);
  return {
    root,
    store,
    path: (project, id = newUuid()) => join(root, "projects", project, `${id}.jsonl`),
    open(log = silentLog) {
      const catalog = createCatalog({
        place,
        sources,
        forgotten: createForgottenSessions(store.db),
        clock: systemClock,
        log,
      });
      onTestFinished(() => catalog.close());
      return catalog;
    },
  };
}

async function add(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await copyFile(fixture, path);
  return path;
}

async function rows(catalog: Catalog) {
  const { db } = await catalog.database();
  return db.selectFrom("transcripts").selectAll().orderBy("path").execute();
}

const paths = async (catalog: Catalog): Promise<readonly string[]> => (await rows(catalog)).map(({ path }) => path);

describeOnBothStores("the catalog in its process", (openStore) => {
  test("indexes in the background, reports its progress, and follows what agents write", async () => {
    const world = await makeWorld(await openStore());
    const first = await add(world.path("one"));
    const catalog = world.open();
    expect(catalog.indexing()).toEqual({ done: 0, total: 0 });
    await catalog.firstPage(10_000);
    expect(await paths(catalog)).toEqual([first]);
    await expect.poll(() => catalog.indexing(), patience).toBeNull();
    const turns = (await rows(catalog))[0]?.turn_count ?? 0;
    await appendFile(first, await readFile(fixture));
    await expect.poll(async () => (await rows(catalog))[0]?.turn_count, patience).toBe(2 * turns);
    const second = await add(world.path("two"));
    await expect.poll(() => paths(catalog), patience).toEqual([first, second].toSorted());
    await rm(dirname(first), { recursive: true });
    await expect.poll(() => paths(catalog), patience).toEqual([second]);
  });

  test("forgets a session permanently, and finishes what an earlier process did not", async () => {
    const world = await makeWorld(await openStore());
    const [one, two] = [newUuid(), newUuid()];
    await add(world.path("one", one));
    await add(world.path("one", two));
    const first = world.open();
    first.start();
    await expect.poll(() => first.indexing(), patience).toBeNull();
    const titles = async (catalog: Catalog) =>
      new Map((await rows(catalog)).map(({ session_id, title }) => [session_id, title]));
    const title = (await titles(first)).get(two);
    expect(title).not.toBeNull();
    expect(await (await first.forget({ agent: "claude-code", sessionId: one })).finished).toBe("done");
    expect(await titles(first)).toEqual(
      new Map([
        [one, null],
        [two, title],
      ]),
    );
    await first.close();

    const forgotten = createForgottenSessions(world.store.db);
    expect(await forgotten.all()).toMatchObject([{ sessionId: one, erased: true }]);
    await forgotten.put({ agent: "claude-code", sessionId: two, at: Date.now() });
    expect([await forgotten.at(two), await forgotten.at("none")]).toEqual([expect.any(Number), null]);
    const next = world.open();
    next.start();
    await expect.poll(() => forgotten.all(), patience).toMatchObject([{ erased: true }, { erased: true }]);
    expect([...(await titles(next)).values()]).toEqual([null, null]);
    await next.rebuild();
    expect([...(await titles(next)).values()]).toEqual([null, null]);
  });

  test("rebuilds while it is read", async () => {
    const world = await makeWorld(await openStore());
    for (let count = 0; count < 5; count += 1) await add(world.path("one"));
    const catalog = world.open();
    catalog.start();
    await expect.poll(() => catalog.indexing(), patience).toBeNull();
    const content = async () => (await rows(catalog)).map(({ transcript_id: _id, ...row }) => row);
    const before = await content();
    expect(before).toHaveLength(5);
    const rebuilding = catalog.rebuild();
    expect(catalog.indexing()).not.toBeNull();
    await rebuilding;
    expect(catalog.indexing()).toBeNull();
    expect(await content()).toEqual(before);
  });
});

test("does not miss writes to a new folder between its check and the start of the watch", async () => {
  const world = await makeWorld(await openSqliteTestStore());
  const first = await add(world.path("one"));
  const catalog = world.open();
  catalog.start();
  await expect.poll(() => catalog.indexing(), patience).toBeNull();
  const appeared = await Promise.all(Array.from({ length: 60 }, (_, at) => add(world.path(`new-${at}`))));
  // Writes one line for each, at times spread over the check.
  await Promise.all(
    appeared.map(async (path, at) => {
      await systemClock.sleep(150 + at * 10);
      await appendFile(path, '{"type":"summary","summary":"written last"}\n');
    }),
  );
  const sizes = async () => (await rows(catalog)).map(({ path, size_bytes }) => [path, size_bytes]);
  const onDisk = [first, ...appeared].toSorted().map((path) => [path, statSync(path).size]);
  await expect.poll(sizes, { timeout: 10_000, interval: 50 }).toEqual(onDisk);
});

test("forgetting is pending during a read, and finishes automatically afterwards", async () => {
  const world = await makeWorld(await openSqliteTestStore());
  const id = newUuid();
  await add(world.path("one", id));
  const catalog = world.open();
  catalog.start();
  await expect.poll(() => catalog.indexing(), patience).toBeNull();
  const reader = new DatabaseSync(catalogPlaceOf(world.store).path, { readOnly: true });
  reader.exec("begin");
  reader.prepare("select count(*) from transcripts").all();
  expect(await (await catalog.forget({ agent: "claude-code", sessionId: id })).finished).toBe("pending");
  const forgotten = createForgottenSessions(world.store.db);
  expect(await forgotten.all()).toMatchObject([{ erased: false }]);
  expect((await rows(catalog))[0]?.title).toBeNull();
  reader.close();
  await expect.poll(() => forgotten.all(), patience).toMatchObject([{ erased: true }]);
  expect(await (await catalog.forget({ agent: "claude-code", sessionId: id })).finished).toBe("done");
});

test("a failing erasure does not stop indexing, even after a restart, and is retried until it succeeds", async () => {
  const world = await makeWorld(await openSqliteTestStore());
  const [one, two, three] = [newUuid(), newUuid(), newUuid()];
  const old = await add(world.path("one", one));
  const first = world.open();
  first.start();
  await expect.poll(() => first.indexing(), patience).toBeNull();
  // An index that uses a function only of this connection: all writes succeed except a vacuum, which rebuilds it.
  const foreign = new DatabaseSync(catalogPlaceOf(world.store).path, { timeout: 10_000 });
  foreign.function("only_here", { deterministic: true }, (value) => value);
  foreign.exec("create table odd (it); create index odd_index on odd (only_here(it))");
  const begun = performance.now();
  const { finished } = await first.forget({ agent: "claude-code", sessionId: one });
  expect(await finished).toBe("pending");
  expect(performance.now() - begun).toBeLessThan(4_000); // does not wait for a reader
  const other = await add(world.path("one", two));
  await expect.poll(() => paths(first), patience).toEqual([old, other].toSorted());
  await first.close();

  const messages: string[] = [];
  const next = world.open({ ...silentLog, error: (_, message) => void messages.push(message) });
  next.start();
  await expect.poll(() => next.indexing(), patience).toBeNull();
  const third = await add(world.path("one", three));
  await expect.poll(() => paths(next), patience).toEqual([old, other, third].toSorted());
  expect(new Set(messages)).toEqual(new Set([expect.stringContaining("cannot erase forgotten sessions")]));
  const forgotten = createForgottenSessions(world.store.db);
  expect(await forgotten.all()).toMatchObject([{ erased: false }]);
  foreign.exec("drop table odd");
  foreign.close();
  await expect.poll(() => forgotten.all(), patience).toMatchObject([{ sessionId: one, erased: true }]);
});

test("an agent that writes its first transcript after the start is noticed", async () => {
  const world = await makeWorld(await openSqliteTestStore());
  const catalog = world.open();
  catalog.start();
  await expect.poll(() => catalog.indexing(), patience).toBeNull();
  const id = newUuid();
  const path = await add(world.path("one", id));
  await expect.poll(() => paths(catalog), patience).toEqual([path]);
  expect(await catalog.find(id, "claude-code")).toBe(path);
  expect(await catalog.find(id, "codex")).toBeNull();
});

test("an existing catalog answers immediately and rereads nothing", async () => {
  const world = await makeWorld(await openSqliteTestStore());
  await add(world.path("one"));
  const first = world.open();
  first.start();
  await expect.poll(() => first.indexing(), patience).toBeNull();
  const before = await rows(first);
  await first.close();
  const logged: Readonly<Record<string, unknown>>[] = [];
  const again = world.open({ ...silentLog, info: (fields) => void logged.push(fields) });
  expect(await rows(again)).toEqual(before);
  again.start();
  await expect.poll(() => again.indexing(), patience).toBeNull();
  expect(logged).toMatchObject([{ done: 1, total: 1, unreadable: 0, readBytes: 0 }]);
});

test("a catalog closed in the middle of a long file resumes there", async () => {
  const world = await makeWorld(await openSqliteTestStore());
  const path = await add(world.path("long"));
  const lines = (await readFile(fixture, "utf8")).repeat(20);
  for (let megabytes = 0; megabytes < 24; megabytes += lines.length / 2 ** 20) await appendFile(path, lines);
  const first = world.open();
  first.start();
  await expect.poll(() => paths(first), { ...patience, interval: 2 }).toEqual([path]);
  await first.close();
  const again = world.open();
  again.start();
  await expect.poll(() => again.indexing(), patience).toBeNull();
  const resumed = await rows(again);
  await again.rebuild();
  expect((await rows(again)).map(({ transcript_id: _id, ...row }) => row)).toEqual(
    resumed.map(({ transcript_id: _id, ...row }) => row),
  );
});
