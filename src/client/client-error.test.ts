import { expect, test } from "vitest";
import { errorOfAnswer } from "./client-error.ts";

test("further facts of a problem are kept, such as the session of a failed start", () => {
  const body = { code: "agent_start_failed", detail: "It ended.", sessionId: "s1" };
  expect(errorOfAnswer(503, body).details).toEqual({ sessionId: "s1" });
});

test("the code of a newer gateway is kept, with its words", () => {
  expect(errorOfAnswer(409, { code: "weather", detail: "It rains." })).toMatchObject({
    code: "weather",
    message: "It rains.",
  });
});

test.each([
  ["a proxy's page", undefined],
  ["something else", [1, 2]],
  ["a problem without a code", { detail: "It rains." }],
])("%s is reported as an unreadable response with its status", (_name, body) => {
  const error = errorOfAnswer(502, body);
  expect(error.code).toBe("unreadable_answer");
  expect(error.message).toContain("502");
});

test.each([
  ["3", 3_000],
  [new Date(Date.now() - 60_000).toUTCString(), 0],
  ["soon", null],
])("Retry-After: %s is %s ms", (retryAfter, expected) => {
  expect(errorOfAnswer(429, {}, { retryAfter }).retryAfterMs).toBe(expected);
});
