import type { KyselyPlugin } from "kysely";
import { expect, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { createFakeClock, type FakeClock } from "../../test/support/fake-clock.ts";
import { silentLog } from "../core/log.ts";
import { createErasure } from "./erasure.ts";

/** Rejects the first statements. */
function refusing(times: number): KyselyPlugin & { readonly asked: number } {
  let asked = 0;
  return {
    get asked() {
      return asked;
    },
    transformQuery({ node }) {
      asked += 1;
      if (asked <= times) throw new Error("disk I/O error");
      return node;
    },
    transformResult: async ({ result }) => result,
  };
}

async function begin(refusal: KyselyPlugin) {
  const store = await openSqliteTestStore();
  const clock = createFakeClock();
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (_fields: unknown, message: string) => void warnings.push(message) };
  const erasure = createErasure({ db: store.db.withPlugin(refusal), dialect: "sqlite", clock, log });
  return { erasure, clock, warnings };
}

/** Advances the clock until the task settles. */
async function inTime(clock: FakeClock, task: Promise<void>): Promise<void> {
  let settled = false;
  const settle = (): void => void (settled = true);
  task.then(settle, settle);
  await expect.poll(async () => (await clock.advance(500), settled), { interval: 5 }).toBe(true);
  await task;
}

test("a store that does not take its settings at first is asked again, and the log says so", async () => {
  const { erasure, clock, warnings } = await begin(refusing(2));
  await inTime(clock, erasure.start());
  expect(warnings).toHaveLength(2);
});

test("one that keeps refusing is an error after a bounded time, and the next call tries again", async () => {
  const refusal = refusing(4);
  const { erasure, clock } = await begin(refusal);
  await expect(inTime(clock, erasure.start())).rejects.toThrow("disk I/O error");
  expect(refusal.asked).toBe(4);
  await erasure.start();
  expect(refusal.asked).toBe(5);
});
