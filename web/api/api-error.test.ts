import { expect, test } from "vitest";
import { errorOfAnswer, fieldError, messageOf } from "./api-error.ts";

test("a problem is parsed into its code, message and fields", () => {
  const error = errorOfAnswer(400, {
    type: "/docs/problems#invalid_request",
    title: "Invalid request",
    status: 400,
    code: "invalid_request",
    detail: "The body does not fit.",
    errors: [{ path: "dir", message: "Too small" }],
  });
  expect(error).toMatchObject({ code: "invalid_request", status: 400, message: "The body does not fit." });
  expect(fieldError(error, "dir")).toBe("Too small");
  expect(fieldError(error, "prompt")).toBe(undefined);
});

test("the session of an agent that failed to start is kept, to show its last screen", () => {
  const body = { code: "agent_start_failed", detail: "It ended.", sessionId: "s1" };
  expect(errorOfAnswer(503, body).sessionId).toBe("s1");
});

test("the unsent text of a composer is kept, to ask about it", () => {
  const body = { code: "composer_not_empty", detail: "It holds text.", draft: "half typed" };
  expect(errorOfAnswer(409, body).draft).toBe("half typed");
});

test.each([
  ["a proxy's page", undefined],
  ["a code that this page does not know", { code: "weather", detail: "It rains." }],
  ["something else", [1, 2]],
])("%s is reported as an unreadable response with its status", (_name, body) => {
  const error = errorOfAnswer(502, body);
  expect(error.code).toBe("unreadable_answer");
  expect(messageOf(error)).toContain("502");
});
