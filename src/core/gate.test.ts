import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { createGate } from "./gate.ts";

test("so many tasks run at once, others wait in line, and more are refused", async () => {
  const gate = createGate({ atOnce: 2, waiting: 1 });
  const begun: number[] = [];
  const ends = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const tasks = ends.map((end, number) =>
    gate.run(async () => {
      begun.push(number);
      await end.promise;
      return number;
    }),
  );
  expect(begun).toEqual([0, 1]);
  expect(await errorCode(gate.run(async () => 3))).toBe("rate_limited");
  ends[1]?.resolve();
  expect(await tasks[1]).toBe(1);
  await expect.poll(() => begun).toEqual([0, 1, 2]);
  ends[0]?.resolve();
  ends[2]?.resolve();
  expect(await Promise.all(tasks)).toEqual([0, 1, 2]);
  expect(await gate.run(async () => 4)).toBe(4);
});

test("a task that fails leaves its place", async () => {
  const gate = createGate({ atOnce: 1, waiting: 1 });
  const failing = gate.run(async () => Promise.reject(new Error("no")));
  const next = gate.run(async () => "next");
  await expect(failing).rejects.toThrow("no");
  expect(await next).toBe("next");
  expect(await gate.run(async () => "last")).toBe("last");
});
