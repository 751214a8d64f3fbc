import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { addAccount, openTestLogs, tester, turnOf, whole } from "../../test/support/logs.ts";
import { systemClock } from "../core/clock.ts";
import { maxPending } from "./episode-store.ts";
import type { Extractor } from "./index.ts";

describeOnBothStores("with an extractor that takes its time", (openStore) => {
  async function setUp(options: Parameters<typeof openTestLogs>[1] = {}) {
    const store = await openStore();
    return { store, logs: await openTestLogs(store, options), me: await addAccount(store) };
  }

  function slowExtractor() {
    const asked: {
      readonly text: string;
      readonly signal: AbortSignal;
      readonly answer: () => void;
      readonly fail: () => void;
    }[] = [];
    const extractor: Extractor = {
      name: "llm:test@1",
      extract: (text, { signal, observedAt }) =>
        new Promise((resolve, reject) => {
          const subject = { type: "Decision", key: "by a model" } as const;
          const answer = () =>
            resolve([{ subject, predicate: "status", object: `of ${text.slice(0, 5)}`, at: observedAt }]);
          asked.push({
            text,
            signal,
            answer,
            fail: () => reject(new Error("no model, key sk-abcdefghijklmnopqrstuvwxyz")),
          });
          signal.addEventListener("abort", () => reject(new Error("aborted")));
        }),
    };
    const next = async (count: number) => {
      while (asked.length < count) await systemClock.sleep(2);
      return asked[count - 1];
    };
    return { extractor, asked, next };
  }

  test("an entry is pending until it answered", async () => {
    const { extractor, next } = slowExtractor();
    const { logs, me } = await setUp({ extractor });
    const { log } = await logs.submit(whole(me), { content: "Decision: a = b, sk-abcdefghijklmnopqrstuvwxyz" });
    expect(log.status).toBe("pending");
    expect(await logs.get(whole(me), log.logId)).toMatchObject({ status: "pending", episode: null, facts: [] });
    const request = await next(1);
    expect(request?.text).not.toContain("abcdefghij");
    request?.answer();
    await logs.settled();
    const { facts, status } = await logs.get(whole(me), log.logId);
    expect(status).toBe("ready");
    expect(facts.map((fact) => fact.extractor).toSorted()).toEqual(["llm:test@1", "rules@1", "rules@1"]);
  });

  test("what the rules say to hold is not superseded by what a model says of the same entry", async () => {
    const { extractor, next } = slowExtractor();
    const { logs, me } = await setUp({ extractor });
    const { log } = await logs.submit(whole(me), { content: "Decision: by a model = never" });
    (await next(1))?.answer();
    await logs.settled();
    const { facts } = await logs.get(whole(me), log.logId);
    const status = facts.filter(({ predicate }) => predicate === "status");
    expect(status).toMatchObject([{ value: "never", extractor: "rules@1", validTo: null }]);
  });

  test("what the rules said in another entry is not ended by a model", async () => {
    const { extractor, next } = slowExtractor();
    const { logs, me } = await setUp({ extractor });
    await logs.submit(whole(me), { content: "Decision: by a model = never", observedAt: "2025-05-05T10:00:00Z" });
    (await next(1))?.answer();
    const { log } = await logs.submit(whole(me), { content: "a page", observedAt: "2025-05-06T10:00:00Z" });
    (await next(2))?.answer();
    await logs.settled();
    expect((await logs.get(whole(me), log.logId)).status).toBe("ready");
    const { facts } = await logs.facts(whole(me), { predicate: "status" });
    expect(facts).toMatchObject([{ value: "never", validTo: null }]);
  });

  test("accounts take turns: many entries of one do not hold up the other's", async () => {
    const { extractor, asked, next } = slowExtractor();
    const { store, logs, me: one } = await setUp({ extractor });
    // The first account has many entries: processing it alone first would leave the other to the end.
    const [me = "", other = ""] = [one, await addAccount(store)].toSorted();
    for (const content of ["one", "two", "three", "four"]) await logs.submit(whole(me), { content });
    await logs.submit(whole(other), { content: "other" });
    for (let count = 1; count <= 5; count++) (await next(count))?.answer();
    await logs.settled();
    expect(asked.map(({ text }) => text).toSorted()).toEqual(["four", "one", "other", "three", "two"]);
    expect(asked.findIndex(({ text }) => text === "other")).toBeLessThan(3);
  });

  test("nothing is begun any more when the memory closes", async () => {
    const { extractor, asked } = slowExtractor();
    const { logs, me } = await setUp({ extractor });
    const submitted = logs.submit(whole(me), { content: "Decision: a = b" });
    await submitted;
    await logs.close();
    const before = asked.length;
    expect(asked.every(({ signal }) => signal.aborted)).toBe(true);
    await expect(logs.settled()).resolves.toBeUndefined();
    expect(asked).toHaveLength(before);
  });

  test("its failure leaves what the rules found", async () => {
    const { extractor, next } = slowExtractor();
    const { logs, me } = await setUp({ extractor });
    const { log } = await logs.submit(whole(me), { content: "Decision: a = b" });
    (await next(1))?.fail();
    await logs.settled();
    const detail = await logs.get(whole(me), log.logId);
    expect(detail).toMatchObject({ status: "failed", failure: "no model, key [masked]" });
    expect(detail.facts).toHaveLength(2);
  });

  test("so many of an account wait at most; one more has the rules' facts, and says why", async () => {
    const { extractor, next } = slowExtractor();
    const { store, logs, me } = await setUp({ extractor });
    const other = await addAccount(store);
    const content = "Decision: a = b";
    const submit = async (accountId: string) => (await logs.submit(whole(accountId), { content })).log;
    const waiting = await Promise.all(Array.from({ length: maxPending }, () => submit(me)));
    expect(new Set(waiting.map(({ status }) => status))).toEqual(new Set(["pending"]));
    const more = await submit(me);
    expect(more).toMatchObject({
      status: "failed",
      failure: expect.stringContaining("100 entries are already waiting"),
    });
    const { facts, episode } = await logs.get(whole(me), more.logId);
    expect([episode === null, facts.length]).toEqual([false, 2]);
    const context = { agent: null, repository: null, branch: null };
    const recording = { sessionId: "s", title: null, dir: null, context, turns: [turnOf(0, [content])] };
    const [recorded = ""] = (await logs.record(me, { ...recording, onPurpose: false })).logIds;
    expect(await logs.get(whole(me), recorded)).toMatchObject({ status: "failed" });
    expect((await submit(other)).status).toBe("pending");
    (await next(1))?.answer();
    await expect.poll(async () => (await submit(me)).status).toBe("pending");
  });

  test("one that cannot be read does not keep the others waiting", async () => {
    const { extractor, next } = slowExtractor();
    const { store, logs, me } = await setUp({ extractor });
    const ids: string[] = [];
    for (const content of ["one", "two", "three"]) ids.push((await logs.submit(whole(me), { content })).log.logId);
    const [, broken = "", last = ""] = ids;
    await store.db
      .updateTable("log_entries")
      .set({ form: "turns", content: "no list" })
      .where("log_id", "=", broken)
      .execute();
    for (const count of [1, 2]) (await next(count))?.answer();
    await expect(logs.settled()).rejects.toThrow();
    expect((await logs.get(whole(me), last)).status).toBe("ready");
    const pending = store.db.selectFrom("log_entries").select("log_id").where("status", "=", "pending");
    expect(await pending.execute()).toEqual([{ log_id: broken }]);
  });

  test("a pending entry is deleted at once, and its answer thrown away", async () => {
    const { extractor, asked, next } = slowExtractor();
    const { store, logs, me } = await setUp({ extractor });
    const { log } = await logs.submit(whole(me), { content: "Decision: a = b" });
    const request = await next(1);
    const answer = await logs.delete(whole(me), log.logId, tester);
    expect(answer.deleted).toEqual({ episode: false, statements: 0, entities: 0, facts: 0 });
    expect(request?.signal.aborted).toBe(true);
    await logs.settled();
    for (const table of ["log_entries", "episodes", "facts", "entities", "log_words"] as const) {
      expect(await store.db.selectFrom(table).selectAll().execute()).toEqual([]);
    }
    expect(asked).toHaveLength(1);
  });

  test("what is pending when the gateway ends is derived after the next start", async () => {
    const { extractor, next } = slowExtractor();
    const { store, logs, me } = await setUp({ extractor });
    const { log } = await logs.submit(whole(me), { content: "Decision: a = b" });
    await next(1);
    await logs.close();
    const again = await openTestLogs(store);
    await again.settled();
    expect(await again.get(whole(me), log.logId)).toMatchObject({ status: "ready" });
  });
});
