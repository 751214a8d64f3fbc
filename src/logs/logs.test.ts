import { expect, test } from "vitest";
import { describeOnBothStores, openSqliteTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { addAccount, callOf, openTestLogs, tester, turnOf, whole } from "../../test/support/logs.ts";
import type { SessionRecording } from "./index.ts";

const nothing = { agent: null, repository: null, branch: null };

function recording(turns: SessionRecording["turns"], more: Partial<SessionRecording> = {}): SessionRecording {
  return { sessionId: "s1", title: "a session", dir: null, context: nothing, onPurpose: false, turns, ...more };
}

describeOnBothStores("the memory", (openStore) => {
  async function setUp(options: Parameters<typeof openTestLogs>[1] = {}) {
    const store = await openStore();
    return {
      store,
      logs: await openTestLogs(store, options),
      me: await addAccount(store),
      other: await addAccount(store),
    };
  }

  test("refuses a session's id that looks like a secret: it would be the name of a thing", async () => {
    const { logs, me } = await setUp();
    const submitted = logs.submit(whole(me), { content: "a", sessionId: "ghp_Zq7Rk2Vw9Xb4Nm6Tc1Lp8Hs3" });
    expect(await errorCode(submitted)).toBe("invalid_request");
  });

  test("gives back what was submitted, with what was derived from it", async () => {
    const { logs, me } = await setUp();
    const { log, created } = await logs.submit(whole(me), {
      title: "Timeouts",
      content: "Decision: timeout = 30 s\nSee https://example.com/a, and GH_TOKEN=abcdefghijklmnopqrstuvwxyz.",
      observedAt: "2025-05-05T10:00:00Z",
    });
    expect(created).toBe(true);
    expect(log).toMatchObject({
      source: "api",
      status: "ready",
      title: "Timeouts",
      observedAt: "2025-05-05T10:00:00.000Z",
    });
    const detail = await logs.get(whole(me), log.logId);
    expect(detail.content).toBe("Decision: timeout = 30 s\nSee https://example.com/a, and GH_TOKEN=[masked]");
    expect(detail.episode).toEqual({ characters: detail.content?.length, chunks: 1 });
    expect(
      detail.facts
        .map(({ predicate, value, object }) => [predicate, value ?? object?.key])
        .toSorted((one, other) => String(one).localeCompare(String(other))),
    ).toEqual([
      ["decided", "timeout"],
      ["mentioned", "https://example.com/a"],
      ["status", "30 s"],
    ]);
    expect(detail.entities).toHaveLength(3);
  });

  test("lists the newest first, in pages, and by what they are", async () => {
    const { logs, me } = await setUp();
    for (let n = 0; n < 5; n++) {
      await logs.submit(whole(me), {
        content: `number ${n}`,
        title: String(n),
        observedAt: `2025-05-0${5 - n}T10:00:00Z`,
      });
    }
    await logs.submit(whole(me), { content: "tie", title: "tie", observedAt: "2025-05-05T10:00:00Z" });
    await logs.record(me, recording([turnOf(0, ["hi"], "2025-01-01T00:00:00Z")]));
    const titles: (string | null)[] = [];
    let cursor: string | undefined;
    do {
      const page = await logs.list(whole(me), { limit: 2, cursor });
      titles.push(...page.logs.map(({ title }) => title));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(titles).toEqual(["tie", "0", "1", "2", "3", "4", "a session"]);
    expect((await logs.list(whole(me), { source: "session" })).logs).toHaveLength(1);
    expect((await logs.list(whole(me), { sessionId: "s1", status: "ready" })).logs).toHaveLength(1);
    expect((await logs.list(whole(me), { status: "pending" })).logs).toEqual([]);
    expect(await errorCode(logs.list(whole(me), { cursor: "bm9uZQ" }))).toBe("invalid_request");
  });

  test("remembers the same with the same key once, and refuses something else", async () => {
    const { logs, me, other } = await setUp();
    const input = { content: "once" };
    const both = await Promise.all([1, 2, 3].map(() => logs.submit(whole(me), input, { idempotencyKey: "k" })));
    expect(new Set(both.map(({ log }) => log.logId)).size).toBe(1);
    expect(both.filter(({ created }) => created)).toHaveLength(1);
    expect(await errorCode(logs.submit(whole(me), { content: "else" }, { idempotencyKey: "k" }))).toBe(
      "idempotency_conflict",
    );
    expect((await logs.submit(whole(other), { content: "else" }, { idempotencyKey: "k" })).created).toBe(true);
    expect((await logs.list(whole(me), {})).logs).toHaveLength(1);
  });

  test("records each turn of a session once, however it comes", async () => {
    const { store, logs, me } = await setUp();
    const turns = [0, 1, 2, 3].map((index) =>
      turnOf(index, [`words${index}`, callOf("Bash", { command: `run ${index}` })]),
    );
    expect(await logs.record(me, recording(turns.slice(0, 2)))).toMatchObject({ outcome: "recorded", turns: 2 });
    expect(await logs.record(me, recording(turns.slice(0, 2)))).toEqual({ outcome: "known", logIds: [], turns: 0 });
    expect(await logs.record(me, recording(turns))).toMatchObject({ outcome: "recorded", turns: 2 });
    expect(await logs.record(me, recording(turns))).toMatchObject({ outcome: "known" });
    const many = await Promise.all([1, 2, 3, 4].map(() => logs.record(me, recording(turns, { sessionId: "s2" }))));
    expect(many.filter(({ outcome }) => outcome === "recorded")).toHaveLength(1);
    expect(await store.db.selectFrom("log_turns").selectAll().execute()).toHaveLength(8);
    const { logs: entries } = await logs.list(whole(me), { sessionId: "s1" });
    expect(entries).toHaveLength(2);
    const detail = await logs.get(whole(me), entries[0]?.logId ?? "");
    expect(detail.turns?.map(({ index }) => index)).toEqual([2, 3]);
    expect(detail.content).toBeNull();
  });

  test("splits a long session", async () => {
    const { logs, me } = await setUp();
    const turns = Array.from({ length: 120 }, (_, index) => turnOf(index, [`turn ${index}`]));
    const { logIds, turns: count } = await logs.record(me, recording(turns));
    expect([logIds.length, count]).toEqual([3, 120]);
    expect((await logs.search(whole(me), { q: '"turn 119"' })).hits.map(({ log }) => log.logId)).toEqual(
      logIds.slice(2),
    );
  });

  test("does not record deleted turns automatically, only on request", async () => {
    const { store, logs, me } = await setUp();
    const turns = Array.from({ length: 6 }, (_, index) => turnOf(index, [`words${index}`]));
    const { logIds } = await logs.record(me, recording(turns.slice(1, 5)));
    await logs.delete(whole(me), logIds[0] ?? "", tester);
    expect(await logs.record(me, recording(turns.slice(1, 5)))).toEqual({
      outcome: "suppressed",
      logIds: [],
      turns: 0,
    });
    expect(await logs.record(me, recording(turns))).toMatchObject({ outcome: "recorded", turns: 2 });
    expect((await logs.search(whole(me), { q: "words3" })).hits).toEqual([]);
    expect((await logs.search(whole(me), { q: "words5" })).hits).toHaveLength(1);
    const suppressed = await store.db.selectFrom("log_suppressions").selectAll().execute();
    expect(suppressed).toMatchObject([{ account_id: me, session_id: "s1", first_turn: 1, last_turn: 4 }]);
    expect(await logs.record(me, recording(turns.slice(2, 3), { onPurpose: true }))).toMatchObject({ turns: 1 });
    expect((await logs.search(whole(me), { q: "words2" })).hits).toHaveLength(1);
    expect(await logs.record(me, recording(turns))).toMatchObject({ outcome: "suppressed" });
    expect(await logs.record(me, recording(turns, { onPurpose: true }))).toMatchObject({ turns: 3 });
    expect(await store.db.selectFrom("log_suppressions").selectAll().execute()).toEqual([]);
  });

  test("computes when a fact holds, also after the one that ended it is gone", async () => {
    const { logs, me } = await setUp();
    const decide = async (value: string, day: number) =>
      (
        await logs.submit(whole(me), {
          content: `Decision: timeout = ${value}`,
          observedAt: `2025-05-0${day}T00:00:00Z`,
        })
      ).log.logId;
    await decide("10 s", 1);
    const second = await decide("20 s", 3);
    await decide("30 s", 5);
    const spans = async (input: Parameters<typeof logs.facts>[1] = {}) =>
      (await logs.facts(whole(me), { predicate: "status", ...input })).facts.map(({ value, validFrom, validTo }) =>
        [value, validFrom.slice(8, 10), validTo?.slice(8, 10) ?? null].join(" "),
      );
    const all = ["30 s 05 ", "20 s 03 05", "10 s 01 03"];
    const bySubject = { subject: "Decision:timeout" };
    expect(await spans()).toEqual(all);
    expect(await spans(bySubject)).toEqual(all);
    expect(await spans({ asOf: "2025-05-04T00:00:00Z" })).toEqual(["20 s 03 05"]);
    expect(await spans({ ...bySubject, asOf: "2025-05-04T00:00:00Z" })).toEqual(["20 s 03 05"]);
    expect(await spans({ asOf: "2025-04-01T00:00:00Z" })).toEqual([]);
    await logs.delete(whole(me), second, tester);
    const left = ["30 s 05 ", "10 s 01 05"];
    expect(await spans()).toEqual(left);
    expect(await spans(bySubject)).toEqual(left);
    expect(await spans({ ...bySubject, asOf: "2025-05-04T00:00:00Z" })).toEqual(["10 s 01 05"]);
  });

  test("knows what was known when", async () => {
    const clock = createFakeClock(Date.parse("2025-06-01T00:00:00Z"));
    const { logs, me } = await setUp({ clock });
    await logs.submit(whole(me), { content: "Decision: colour = red", observedAt: "2025-05-01T00:00:00Z" });
    await clock.advance(24 * 3_600_000);
    await logs.submit(whole(me), { content: "Decision: colour = blue", observedAt: "2025-05-02T00:00:00Z" });
    const values = async (input: Parameters<typeof logs.facts>[1]) =>
      (await logs.facts(whole(me), { predicate: "status", ...input })).facts.map(
        ({ value, validTo }) => `${value} ${validTo}`,
      );
    const knownAt = "2025-06-01T12:00:00Z";
    for (const subject of [undefined, "Decision:colour"]) {
      expect(await values({ subject, knownAt })).toEqual(["red null"]);
      expect(await values({ subject, asOf: "2025-05-03T00:00:00Z" })).toEqual(["blue null"]);
      expect(await values({ subject, asOf: "2025-05-03T00:00:00Z", knownAt })).toEqual(["red null"]);
    }
  });

  test("lists all facts about an entity, in pages", async () => {
    const { logs, me } = await setUp();
    const file = (name: string) => callOf("Edit", { file_path: name });
    for (let n = 0; n < 5; n++) {
      await logs.record(
        me,
        recording([turnOf(n, [file("/w/a.ts"), file(`/w/${n}.ts`)], `2025-05-0${n + 1}T00:00:00Z`)]),
      );
    }
    const [entity] = (await logs.entities(whole(me), { type: "File", q: "A.TS" })).entities;
    expect(entity).toMatchObject({ type: "File", key: "/w/a.ts" });
    const first = await logs.timeline(whole(me), entity?.entityId ?? "", { limit: 3 });
    const rest = await logs.timeline(whole(me), entity?.entityId ?? "", {
      limit: 3,
      cursor: first.nextCursor ?? undefined,
    });
    const days = [...first.facts, ...rest.facts].map(({ validFrom }) => validFrom.slice(8, 10));
    expect(days).toEqual(["05", "04", "03", "02", "01"]);
    expect(rest.nextCursor).toBeNull();
    expect((await logs.facts(whole(me), { object: "File:/w/a.ts", subject: "Session:s1" })).facts).toHaveLength(5);
    expect((await logs.facts(whole(me), { object: "File:/w/3.ts" })).facts).toHaveLength(1);
    expect(await errorCode(logs.facts(whole(me), { subject: "Nothing:x" }))).toBe("invalid_request");
    const keys: string[] = [];
    for (let cursor: string | undefined, more = true; more; ) {
      const page = await logs.entities(whole(me), { limit: 3, cursor });
      keys.push(...page.entities.map(({ key }) => key));
      cursor = page.nextCursor ?? undefined;
      more = cursor !== undefined;
    }
    expect(keys.toSorted()).toEqual(["/w/0.ts", "/w/1.ts", "/w/2.ts", "/w/3.ts", "/w/4.ts", "/w/a.ts", "Edit", "s1"]);
    expect((await logs.entities(whole(me), { q: "%" })).entities).toEqual([]);
  });

  test("finds words, phrases, beginnings and other scripts, the best first", async () => {
    const { logs, me, other } = await setUp();
    const filler = "lorem ipsum dolor sit amet ".repeat(40);
    const add = async (title: string, content: string) => void (await logs.submit(whole(me), { title, content }));
    await add("often", `cache cache cache miss ${filler}`);
    await add("once", `${filler} cache ${filler}`);
    await add("the cache", "nothing");
    await add("accents", "Das Café schließt. 検索機能をテスト");
    await add("long", `start ${"x ".repeat(9_000)} finish`);
    await logs.submit(whole(other), { content: "cache elsewhere" });
    const find = async (q: string) => (await logs.search(whole(me), { q })).hits.map(({ log }) => log.title);
    expect((await find("cache")).toSorted((one, other) => String(one).localeCompare(String(other)))).toEqual([
      "often",
      "once",
      "the cache",
    ]);
    expect((await find("cache")).at(-1)).toBe("once");
    expect(await find("cache miss")).toEqual(["often"]);
    expect(await find('"miss cache"')).toEqual([]);
    expect(await find('"cache miss"')).toEqual(["often"]);
    expect(await find("cach")).toHaveLength(3);
    expect(await find('"cach"')).toEqual([]);
    expect(await find("cafe SCHLIESST")).toEqual(["accents"]);
    expect(await find("機能")).toEqual(["accents"]);
    expect(await find("能機")).toEqual([]);
    expect(await find("start finish")).toEqual(["long"]);
    expect(await find("elsewhere")).toEqual([]);
    expect(await find('"""')).toEqual([]);
    expect((await logs.search(whole(me), { q: "miss" })).hits[0]?.snippet).toContain("cache miss lorem");
    expect(await logs.search(whole(me), { q: "cache", limit: 1 })).toMatchObject({ hasMore: true, partial: false });
  });

  test("shows nothing of another account, and answers as if it had never been", async () => {
    const { logs, me, other } = await setUp();
    const { log } = await logs.submit(whole(me), { content: "Decision: secret plan = x" });
    const refusal = async (attempt: Promise<unknown>) =>
      attempt.then(
        () => null,
        (error: unknown) => String(error),
      );
    for (const call of [
      (id: string) => logs.get(whole(other), id),
      (id: string) => logs.delete(whole(other), id, tester),
      (id: string) => logs.preview(whole(other), id),
    ]) {
      expect(await refusal(call(log.logId))).toBe(await refusal(call("nothing")));
      expect(await errorCode(call(log.logId))).toBe("log_not_found");
    }
    expect((await logs.list(whole(other), {})).logs).toEqual([]);
    expect((await logs.entities(whole(other), {})).entities).toEqual([]);
    const [entity] = (await logs.entities(whole(me), {})).entities;
    expect((await logs.timeline(whole(other), entity?.entityId ?? "")).facts).toEqual([]);
    expect((await logs.facts(whole(other), { subject: entity?.entityId })).facts).toEqual([]);
    expect((await logs.get(whole(me), log.logId)).facts).not.toEqual([]);
  });
});

test("the tables refuse that an entry goes and its text stays", async () => {
  const store = await openSqliteTestStore();
  const logs = await openTestLogs(store);
  const me = await addAccount(store);
  await logs.submit(whole(me), { content: "Decision: a = b" });
  for (const table of ["log_entries", "episodes"] as const) {
    await expect(store.db.deleteFrom(table).execute(), table).rejects.toThrow(/FOREIGN KEY/);
  }
});
