import { expect, test } from "vitest";
import { commandsThatPass } from "../support/command-prompts.ts";

/** Enough for each character to be tried with each command. */
const count = Number(process.env["POSTERN_COMMAND_PROMPTS"] ?? 1_000_000);

test(`of ${count} prompts made of commands none passes that an agent would take for one`, () => {
  const { passed, refused } = commandsThatPass(count);
  expect(passed).toEqual([]);
  expect(refused).toBeGreaterThan(count / 2);
  console.log(`${count} prompts: ${refused} refused, ${count - refused} passed as text`);
});
