import { expect, test } from "vitest";
import { claudeNeeds, claudeResetsAt } from "./claude-lines.ts";

test.each([
  ["authentication_failed", "login"],
  ["rate_limit", "limit_reset"],
  ["unknown", undefined],
  [7, undefined],
])("Claude Code's error %s needs %s", (code, needs) => {
  expect(claudeNeeds(code)).toBe(needs);
});

test("the time when the limit resets is read from either of two places", () => {
  const at = { resetsAt: 1_795_280_236, rateLimitType: "five_hour" };
  const told = "2026-11-21T16:57:16.000Z";
  expect(claudeResetsAt({ quotaLimits: at })).toBe(told);
  expect(claudeResetsAt({ quotaLimits: {}, apiErrorParams: { rate_limit_info: at } })).toBe(told);
  expect(claudeResetsAt({ error: "rate_limit" })).toBeNull();
  expect(claudeResetsAt({ quotaLimits: { resetsAt: 1e300 } })).toBeNull();
});
