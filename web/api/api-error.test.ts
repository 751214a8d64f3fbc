import { expect, test } from "vitest";
import { errorOfAnswer, fieldError, messageOf } from "./api-error.ts";

test("a problem is read with its code, its words and the fields that it is about", () => {
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

test("the session of an agent that did not start is kept, so that its last screen can be seen", () => {
  const body = { code: "agent_start_failed", detail: "It ended.", sessionId: "s1" };
  expect(errorOfAnswer(503, body).sessionId).toBe("s1");
});

test("the unsent text of a composer is kept, so that it can be asked about", () => {
  const body = { code: "composer_not_empty", detail: "It holds text.", draft: "half typed" };
  expect(errorOfAnswer(409, body).draft).toBe("half typed");
});

test.each([
  ["a proxy's page", undefined],
  ["a code that this page does not know", { code: "weather", detail: "It rains." }],
  ["something else", [1, 2]],
])("%s is an answer that cannot be read, and says its status", (_name, body) => {
  const error = errorOfAnswer(502, body);
  expect(error.code).toBe("unreadable_answer");
  expect(messageOf(error)).toContain("502");
});
