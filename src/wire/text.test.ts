import { expect, test } from "vitest";
import { rescueInputSchema } from "./changes.ts";
import { askInputSchema, readInputSchema, spawnInputSchema } from "./coding.ts";
import { eventsQuerySchema } from "./events.ts";

test("a NUL is refused before a store or a command line meets it", () => {
  const ask = { dir: "/work", prompt: "hi", worktree: true };
  expect(askInputSchema.safeParse({ ...ask, branch: "b", baseBranch: "main" }).success).toBe(true);
  for (const field of ["sessionId", "model", "systemPrompt", "baseBranch", "branch", "idempotencyKey"] as const) {
    const parsed = askInputSchema.safeParse({ ...ask, [field]: "a\0b" });
    expect(
      parsed.error?.issues.map(({ path }) => path.join(".")),
      field,
    ).toEqual([field]);
  }
  for (const field of ["sessionId", "model", "systemPrompt", "baseBranch", "branch"] as const) {
    expect(spawnInputSchema.safeParse({ [field]: "a\0b" }).success, field).toBe(false);
  }
  for (const schema of [readInputSchema, rescueInputSchema, eventsQuerySchema]) {
    expect(schema.safeParse({ sessionId: "a\0b" }).success).toBe(false);
    expect(schema.safeParse({ sessionId: "ab" }).success).toBe(true);
  }
});
