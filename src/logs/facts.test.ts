import { performance } from "node:perf_hooks";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { describeOnBothStores, type TestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { addAccount, callOf, openTestLogs, turnOf, whole } from "../../test/support/logs.ts";
import { type FactsInput, type LogFact, singleValuedPredicates } from "../wire/logs.ts";
import type { Logs, LogsCaller } from "./index.ts";

const start = Date.parse("2025-05-05T00:00:00Z");
const hour = 3_600_000;
const values = 5_000;
/** Each takes about 10 ms; if each value were compared with all others, it would take minutes. */
const limitMs = 1_500;

describeOnBothStores("facts", (openStore) => {
  test("match a plain evaluation of all facts, for each query and in pages", {
    timeout: 60_000,
  }, async () => {
    const store = await openStore();
    const clock = createFakeClock(start + 100 * hour);
    const logs = await openTestLogs(store, { clock });
    const [me, other] = [await addAccount(store), await addAccount(store)];
    const ran = (ok: boolean) => callOf("Bash", { command: "npm test" }, { ok, text: ok ? "" : "Exit code 1" });
    for (let n = 0; n < 12; n++) {
      const at = new Date(start + ((n * 5) % 7) * hour).toISOString();
      const turns = [
        turnOf(n, [`Decision: a = ${n % 3}`, ran(n % 2 === 0), callOf("Edit", { file_path: "/w/a.ts" })], at),
      ];
      const context = { agent: null, repository: "/w", branch: n % 3 === 0 ? "main" : "next" };
      const dir = [null, "/code/x", "/code/y"][(n * n) % 3] ?? null;
      await logs.record(me, { sessionId: `s${n % 2}`, title: null, dir, context, turns, onPurpose: false });
      await clock.advance(hour);
    }
    await logs.submit(whole(other), { content: "Decision: a = 9" });
    const times = { asOf: [undefined, 3.5], knownAt: [undefined, 103.5] };
    const refs = [undefined, "Decision:a", "Command:npm test", "Session:s1", "File:/w/a.ts", "Branch:/w main"];
    for (const folders of [null, ["/code/x"]]) {
      const caller: LogsCaller = { accountId: me, folders };
      const { facts: all } = await logs.facts(caller, { limit: 200 });
      expect(new Set(all.map(({ factId }) => factId)).size).toBe(all.length);
      expect(all.length).toBeGreaterThan(20);
      for (const asOf of times.asOf.map(timeOf)) {
        for (const knownAt of times.knownAt.map(timeOf)) {
          for (const subject of refs) {
            for (const object of subject === "Session:s1" ? refs : [undefined, "File:/w/a.ts"]) {
              for (const predicate of [undefined, "last_exit", "edited"]) {
                const input = { subject, object, predicate, asOf, knownAt };
                expect(await pagesOf(logs, caller, input), JSON.stringify(input)).toEqual(toldBy(all, input));
              }
            }
          }
        }
      }
    }
  });

  test("are found at once, however often one thing got a value", { timeout: 60_000 }, async () => {
    const store = await openStore();
    const logs = await openTestLogs(store);
    const me = await addAccount(store);
    await runOften(store, logs, me);
    const now = new Date(start + 10 * values * 1_000).toISOString();
    const subject = "Command:npm test";
    const { entityId } = (await logs.entities(whole(me), { type: "Command" })).entities[0] ?? { entityId: "" };
    for (const folders of [null, ["/code/seen"]]) {
      const caller: LogsCaller = { accountId: me, folders };
      const asks: Record<string, () => Promise<{ readonly facts: readonly LogFact[] }>> = {};
      for (const asOf of [undefined, now]) {
        for (const knownAt of [undefined, "2100-01-01T00:00:00Z"]) {
          for (const input of [{}, { predicate: "last_exit" }, { subject }, { subject, predicate: "last_exit" }]) {
            const question: FactsInput = { ...input, asOf, knownAt };
            asks[JSON.stringify(question)] = () => logs.facts(caller, question);
          }
          asks[`timeline ${asOf} ${knownAt}`] = () => logs.timeline(caller, entityId, { asOf, knownAt });
        }
      }
      for (const [name, ask] of Object.entries(asks)) {
        const began = performance.now();
        expect((await ask()).facts.length, name).toBeGreaterThan(0);
        expect(performance.now() - began, name).toBeLessThan(limitMs);
      }
    }
  });
});

describeOnBothStores("cursors", (openStore) => {
  test("that are made up are rejected before the store sees them", async () => {
    const store = await openStore();
    const logs = await openTestLogs(store);
    const me = whole(await addAccount(store));
    await logs.submit(me, { content: "Decision: a = b" });
    const made = (parts: unknown) => ({ cursor: Buffer.from(JSON.stringify(parts)).toString("base64url") });
    for (const parts of [
      ...[
        [1, "a", "abc"],
        [1, "a", 99_999_999_999],
        [1, "a", "99999999999"],
        [1, "a", -1],
        [1, "a", 1.5],
      ],
      ...[[1, "a\0", 1], [1e300, "a", 1], ["1", "a", 1], [1, "a"], {}, null, "no"],
    ])
      expect(await errorCode(logs.facts(me, made(parts))), JSON.stringify(parts)).toBe("invalid_request");
    for (const parts of [[1, "a\0"], [1e300, "a"], ["a", "b"], [1, 2], []])
      expect(await errorCode(logs.list(me, made(parts))), JSON.stringify(parts)).toBe("invalid_request");
    for (const parts of [["a\0", "b"], ["a", "b\0"], [0, "a", "b"], ["a"], [1, 2]])
      expect(await errorCode(logs.entities(me, made(parts))), JSON.stringify(parts)).toBe("invalid_request");
  });
});

function timeOf(hours: number | undefined): string | undefined {
  return hours === undefined ? undefined : new Date(start + hours * hour).toISOString();
}

/** All facts of a question, in small pages. */
async function pagesOf(logs: Logs, caller: LogsCaller, input: FactsInput): Promise<readonly string[]> {
  const listed: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await logs.facts(caller, { ...input, limit: 7, cursor });
    listed.push(...page.facts.map(({ factId, validTo }) => `${factId} ${validTo}`));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return listed;
}

/** The same, out of all facts. */
function toldBy(all: readonly LogFact[], { subject, object, predicate, asOf, knownAt }: FactsInput): readonly string[] {
  const known = all.filter(({ recordedAt }) => knownAt === undefined || recordedAt <= knownAt);
  const place = ({ validFrom, logId, factId }: LogFact) =>
    `${validFrom} ${logId} ${(factId.split(".")[1] ?? "").padStart(6, "0")}`;
  const oldestFirst = known.toSorted((one, other) => (place(one) < place(other) ? -1 : 1));
  const nameOf = (entity: LogFact["object"]) => (entity === null ? "" : `${entity.type}:${entity.key}`);
  return oldestFirst
    .map((fact, at) => {
      const next = oldestFirst
        .slice(at + 1)
        .find((one) => one.subject.entityId === fact.subject.entityId && one.predicate === fact.predicate);
      const isOne = singleValuedPredicates.some((one) => one === fact.predicate);
      return { ...fact, validTo: isOne ? (next?.validFrom ?? null) : null };
    })
    .filter((fact) => subject === undefined || nameOf(fact.subject) === subject)
    .filter((fact) => object === undefined || nameOf(fact.object) === object)
    .filter((fact) => predicate === undefined || fact.predicate === predicate)
    .filter(
      ({ validFrom, validTo }) => asOf === undefined || (validFrom <= asOf && (validTo === null || validTo > asOf)),
    )
    .map(({ factId, validTo }) => `${factId} ${validTo}`)
    .toReversed();
}

/** As if a command had run this many times, alternating between a directory that is hidden from some callers and one that is not. */
async function runOften(store: TestStore, logs: Logs, me: string): Promise<void> {
  const turns = [turnOf(0, [callOf("Bash", { command: "npm test" })], new Date(start).toISOString())];
  const context = { agent: null, repository: null, branch: null };
  const record = (dir: string) =>
    logs.record(me, { sessionId: dir, title: null, dir, context, turns, onPurpose: false });
  const ids = [...(await record("/code/seen")).logIds, ...(await record("/code/hidden")).logIds];
  for (const [n, id] of ids.entries()) {
    await sql`with recursive number(n) as (select 1 union all select n + 1 from number where n < ${sql.lit(values / 2)})
      insert into facts (log_id, position, account_id, statement_id, subject_id, predicate, valid_from, recorded_at, extractor)
      select f.log_id, 1000 + number.n, f.account_id, f.statement_id, f.subject_id, f.predicate,
        f.valid_from + 2000 * number.n + ${sql.lit(n)}, f.recorded_at, f.extractor
      from number cross join facts as f where f.log_id = ${id} and f.predicate = 'last_exit'`.execute(store.db);
  }
}
