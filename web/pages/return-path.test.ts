import { expect, test } from "vitest";
import { returnPath } from "./return-path.ts";

test.each([
  ["/sessions/s1?x=1", "/sessions/s1?x=1"],
  ["/sign-in", "/"],
  ["//evil.example", "/"],
  ["/\\evil.example", "/"],
  ["https://evil.example", "/"],
  ["javascript:alert(1)", "/"],
  ["", "/"],
])("after the sign-in, %s leads to %s", (from, to) => {
  expect(returnPath({ state: { from } })).toBe(to);
});

test("without a place to return to, it leads to the sessions", () => {
  expect(returnPath({ state: null })).toBe("/");
});
