import { performance } from "node:perf_hooks";
import { describe, expect, test } from "vitest";
import { median } from "../../bench/measure.ts";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { addAccount, callOf, openTestLogs, tester, turnOf, whole } from "../../test/support/logs.ts";
import type { LogsCaller } from "./index.ts";

const rounds = 200;
/** Relative to the fastest median. Reading and parsing hidden data (here a megabyte) takes many times as long. */
const maxRatio = 1.5;

describe("an entry of another account, a hidden one and one that never was", () => {
  test("are the same: the answer, and the time that it takes", async () => {
    const store = await openSqliteTestStore();
    const logs = await openTestLogs(store);
    const [me, other] = [await addAccount(store), await addAccount(store)];
    const limited: LogsCaller = { accountId: me, folders: ["/code/x"] };
    const text = "word ".repeat(40_000);
    const turns = Array.from({ length: 5 }, (_, n) => turnOf(n, [text, callOf("Edit", { file_path: `/f/${n}` })]));
    const recording = { sessionId: "s", title: "t", dir: "/code/y", context: nothing, turns, onPurpose: false };
    const ids: string[] = [];
    for (const accountId of [other, me]) ids.push((await logs.record(accountId, recording)).logIds[0] ?? "");
    await logs.submit(limited, { content: "mine", dir: "/code/x" });
    ids.push("0".repeat(32));
    const asks: readonly ((id: string) => Promise<unknown>)[] = [
      (id) => logs.get(limited, id),
      (id) => logs.delete(limited, id, tester),
      (id) => logs.preview(limited, id),
    ];
    for (const ask of asks) {
      const times = ids.map((): number[] => []);
      const answers = new Set<string>();
      for (let round = 0; round < rounds; round++) {
        // Each comes first equally often, so that other load affects all of them alike.
        for (let n = 0; n < ids.length; n++) {
          const which = (round + n) % ids.length;
          const began = performance.now();
          const error = await ask(ids[which] ?? "").catch((reason: unknown) => reason);
          times[which]?.push(performance.now() - began);
          answers.add(String(error));
        }
      }
      expect([...answers]).toEqual([expect.stringContaining("Memory entry not found.")]);
      const medians = times.map(median);
      expect(Math.max(...medians) / Math.min(...medians)).toBeLessThan(maxRatio);
    }
    expect((await logs.get(whole(me), ids[1] ?? "")).turns).not.toBeNull();
  });
});

const nothing = { agent: null, repository: null, branch: null };
