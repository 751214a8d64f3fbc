import fc from "fast-check";
import { sql } from "kysely";
import { expect } from "vitest";
import type { Logs, LogsCaller } from "../../src/logs/index.ts";
import type { Block } from "../../src/wire/turn.ts";
import type { TestStore } from "./database.ts";
import { addAccount, callOf, tester, turnOf, whole } from "./logs.ts";

/** One entry of a random corpus. */
interface Planned {
  readonly account: number;
  readonly kind: "text" | "session";
  readonly session: number;
  readonly hour: number;
  readonly dir: string | null;
  readonly pieces: readonly (string | Block)[];
}

const words = ["alpha", "beta", "gamma", "Delta", "検索", "naïve", "alphabet"];
const sayings = [
  "Decision: timeout = 30 s",
  "Decision: timeout = 60 s",
  "Decision: colour = blue",
  "Remember: ask Ann",
  "see https://example.com/a and #12",
];
const commands = ["npm test", "git status", "npm i zod", "A_TOKEN=x make"];
const piece = fc.oneof(
  fc.constantFrom(...words),
  fc.constantFrom(...sayings),
  fc
    .constantFrom("a.ts", "b.ts", "c.ts")
    .chain((file) => fc.constantFrom(callOf("Read", { file_path: file }), callOf("Edit", { file_path: file }))),
  fc
    .tuple(fc.constantFrom(...commands), fc.boolean())
    .map(([command, ok]) => callOf("Bash", { command }, { ok, text: ok ? "On branch main" : "Exit code 2" })),
);
const planned: fc.Arbitrary<Planned> = fc.record({
  account: fc.nat({ max: 1 }),
  kind: fc.constantFrom("text", "session"),
  session: fc.nat({ max: 1 }),
  hour: fc.nat({ max: 5 }),
  dir: fc.constantFrom(null, "/code/x", "/code/x/deep", "/code/xy"),
  pieces: fc.array(piece, { minLength: 1, maxLength: 5 }),
});

/** A corpus, and the positions of the entries to delete, in order. */
export const corpora = fc.array(planned, { minLength: 1, maxLength: 7 }).chain((entries) =>
  fc.record({
    entries: fc.constant(entries),
    gone: fc.shuffledSubarray(
      entries.map((_, at) => at),
      { minLength: 1 },
    ),
  }),
);

/** @see corpora */
export type Corpus = typeof corpora extends fc.Arbitrary<infer T> ? T : never;

/** Adds the chosen entries, each with the time and turn number that it has in the whole corpus. */
async function enter(
  { logs, accounts }: World,
  { entries }: Corpus,
  isWanted: (at: number) => boolean,
): Promise<string[]> {
  const ids: string[] = [];
  for (const [at, { account, kind, session, hour, dir, pieces }] of entries.entries()) {
    ids.push("");
    if (!isWanted(at)) continue;
    const accountId = accounts[account] ?? "";
    const observedAt = `2025-05-05T0${hour}:00:00.000Z`;
    if (kind === "text") {
      const content = pieces.map((one) => (typeof one === "string" ? one : "tool")).join("\n");
      const where = dir === null ? {} : { dir };
      ids[at] = (await logs.submit(whole(accountId), { content, title: `n${at}`, observedAt, ...where })).log.logId;
      continue;
    }
    const context = { agent: "claude-code", repository: `/r${session}`, branch: null };
    const recording = {
      sessionId: `s${session}`,
      title: `n${at}`,
      dir,
      context,
      onPurpose: true,
      turns: [turnOf(at, pieces, observedAt)],
    };
    ids[at] = (await logs.record(accountId, recording)).logIds[0] ?? "";
  }
  return ids;
}

/** A memory with two accounts. */
export interface World {
  readonly store: TestStore;
  readonly logs: Logs;
  readonly accounts: readonly string[];
}

/** Two stores of the same dialect to compare; created once, and emptied between corpora. */
export async function createWorld(store: TestStore, logs: Logs): Promise<World> {
  return { store, logs, accounts: [await addAccount(store), await addAccount(store)] };
}

const tables = [
  ...(["facts", "statements", "entities", "log_postings", "log_words", "log_chunks", "episodes", "log_turns"] as const),
  ...(["log_entries", "log_suppressions"] as const),
] as const;

async function empty({ store }: World): Promise<void> {
  for (const table of tables) await sql`delete from ${sql.table(table)}`.execute(store.db);
}

/** Replaces values that are random or counted (ids, accounts, recording times) by ones that are the same in every store. */
async function createPlain({ store, accounts }: World, ids: readonly string[]): Promise<(value: unknown) => unknown> {
  const names = new Map<string, string>();
  for (const [at, id] of ids.entries()) if (id !== "") names.set(id, `n${at}`);
  for (const [at, id] of accounts.entries()) names.set(id, `account${at}`);
  for (const [account, id] of accounts.entries()) {
    const { rows } = await sql<{ id: string; name: string }>`
      select entity_id as id, type || ':' || key as name from entities where account_id = ${id}
      union all select s.statement_id, e.key || ' ' || s.predicate || ' ' || coalesce(s.value, o.type || ':' || o.key)
      from statements as s join entities as e on e.entity_id = s.subject_id left join entities as o on o.entity_id = s.object_id
      where s.account_id = ${id}`.execute(store.db);
    for (const row of rows) names.set(row.id, `${account} ${row.name}`);
  }
  const chunks = await store.db.selectFrom("log_chunks").select(["chunk_id", "log_id", "position"]).execute();
  const chunkNames = new Map(chunks.map((row) => [row.chunk_id, `${names.get(row.log_id)} ${row.position}`]));
  const wordRows = await store.db.selectFrom("log_words").select(["word_id", "word", "account_id"]).execute();
  const wordNames = new Map(wordRows.map((row) => [row.word_id, `${names.get(row.account_id)} ${row.word}`]));
  return (value) =>
    JSON.parse(
      JSON.stringify(value, (key, one: unknown) => {
        if (["recorded_at", "created_at", "recordedAt"].includes(key)) return null;
        if (key === "chunk_id" && typeof one === "number") return chunkNames.get(one);
        if (key === "word_id" && typeof one === "number") return wordNames.get(one);
        if (key === "factId" && typeof one === "string") return one.replace(/^[^.]+/, (id) => names.get(id) ?? id);
        return typeof one === "string" ? (names.get(one) ?? one) : one;
      }),
    );
}

/** Everything that a store holds and answers. */
async function stateOf(world: World, ids: readonly string[]): Promise<unknown> {
  const { store, logs, accounts } = world;
  const plain = await createPlain(world, ids);
  const state: Record<string, unknown> = {};
  for (const table of tables) {
    if (table === "log_suppressions") continue;
    const { rows } = await sql`select * from ${sql.table(table)}`.execute(store.db);
    state[table] = rows.map((row) => JSON.stringify(plain(row))).toSorted();
  }
  for (const [n, accountId] of accounts.entries()) {
    state[`account${n}`] = plain(await answersTo(logs, whole(accountId), ids));
  }
  return state;
}

/** Everything that memory returns to a caller. */
async function answersTo(logs: Logs, caller: LogsCaller, ids: readonly string[]): Promise<readonly unknown[]> {
  const found: unknown[] = [
    await logs.list(caller, {}),
    await logs.facts(caller, { limit: 200 }),
    await logs.facts(caller, { subject: "Decision:timeout" }),
    await logs.facts(caller, { object: "File:a.ts" }),
  ];
  const { entities } = await logs.entities(caller, { limit: 200 });
  found.push(entities.map(({ type, key }) => `${type}:${key}`).toSorted());
  for (const { entityId } of entities) found.push(await logs.timeline(caller, entityId));
  for (const hour of [1, 3]) found.push(await logs.facts(caller, { asOf: `2025-05-05T0${hour}:30:00Z` }));
  for (const q of [...words, "alpha beta", '"timeout 30"', "alph", "npm test", "example com"])
    found.push(await logs.search(caller, { q }));
  for (const id of ids) {
    if (id === "") continue;
    found.push(await logs.get(caller, id).catch(errorText), await logs.preview(caller, id).catch(errorText));
  }
  return found;
}

function errorText(error: unknown): string {
  return String(error);
}

/**
 * Checks that a caller limited to a folder gets from `one`, which has the whole corpus, what an unlimited caller gets from `other`, which
 * has only that folder's entries: also while entries are deleted one after another.
 */
export async function checkSight(one: World, other: World, corpus: Corpus): Promise<void> {
  await empty(one);
  await empty(other);
  const folder = "/code/x";
  const isOfFolder = (at: number) => corpus.entries[at]?.dir?.split("/")[2] === "x";
  const all = await enter(one, corpus, () => true);
  const fewer = await enter(other, corpus, isOfFolder);
  const seenIds = all.map((id, at) => (isOfFolder(at) ? id : ""));
  const limited = (accountId: string): LogsCaller => ({ accountId, folders: [folder] });
  for (const accountId of one.accounts) {
    for (const [at, id] of all.entries()) {
      if (isOfFolder(at)) continue;
      for (const ask of [one.logs.get, one.logs.preview])
        expect(await ask(limited(accountId), id).catch(errorText)).toBe(errorText(await missing(one)));
      expect(await one.logs.delete(limited(accountId), id, tester).catch(errorText)).toBe(
        errorText(await missing(one)),
      );
    }
  }
  const same = async (): Promise<void> => {
    for (const [n, accountId] of one.accounts.entries()) {
      const [here, there] = [await createPlain(one, seenIds), await createPlain(other, fewer)];
      const told = here(await answersTo(one.logs, limited(accountId), seenIds));
      expect(told).toEqual(there(await answersTo(other.logs, whole(other.accounts[n] ?? ""), fewer)));
    }
  };
  await same();
  for (const at of corpus.gone) {
    if (!isOfFolder(at)) continue;
    const n = corpus.entries[at]?.account ?? 0;
    const told = await one.logs.delete(limited(one.accounts[n] ?? ""), seenIds[at] ?? "", tester);
    expect(told).toEqual(await other.logs.delete(whole(other.accounts[n] ?? ""), fewer[at] ?? "", tester));
    seenIds[at] = "";
    fewer[at] = "";
  }
  await same();
}

async function missing({ logs, accounts }: World): Promise<unknown> {
  return logs.get(whole(accounts[0] ?? ""), "nothing").catch((error: unknown) => error);
}

/**
 * Deletes some entries of a corpus in `one`, and never enters them in `other`: then both hold and answer the same. On the way the counts
 * of each deletion are the rows that went.
 */
export async function checkOracle(one: World, other: World, corpus: Corpus): Promise<void> {
  await empty(one);
  await empty(other);
  const ids = await enter(one, corpus, () => true);
  const gone = new Set(corpus.gone);
  for (const at of corpus.gone) {
    const accountId = one.accounts[corpus.entries[at]?.account ?? 0] ?? "";
    const id = ids[at] ?? "";
    const before = await countsOf(one);
    const foretold = await one.logs.preview(whole(accountId), id);
    const { deleted } = await one.logs.delete(whole(accountId), id, tester);
    const after = await countsOf(one);
    const difference = {
      episode: before.episodes - after.episodes === 1,
      statements: before.statements - after.statements,
      entities: before.entities - after.entities,
      facts: before.facts - after.facts,
    };
    expect(deleted).toEqual(difference);
    expect(foretold.removed).toEqual(deleted);
    ids[at] = "";
  }
  const fewer = await enter(other, corpus, (at) => !gone.has(at));
  expect(await stateOf(one, ids)).toEqual(await stateOf(other, fewer));
}

/** Rows in all. */
export async function countsOf({ store }: Pick<World, "store">) {
  const { rows } = await sql<Record<"episodes" | "statements" | "entities" | "facts", number>>`select
    (select count(*) from episodes) as episodes, (select count(*) from statements) as statements,
    (select count(*) from entities) as entities, (select count(*) from facts) as facts`.execute(store.db);
  const [counts] = rows;
  if (counts === undefined) throw new Error("no counts");
  return counts;
}
