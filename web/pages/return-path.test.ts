import { expect, test } from "vitest";
import { isServerPage, returnPath } from "./return-path.ts";

const consent = "/oauth/authorize?client_id=a&redirect_uri=http%3A%2F%2Flocalhost%2Fcb&state=x";

test.each([
  ["/sessions/s1?x=1", "/sessions/s1?x=1"],
  [consent, consent],
  ["/sign-in", "/"],
  ["//evil.example", "/"],
  ["/\\evil.example", "/"],
  ["/\t/evil.example", "/"],
  ["/\n//evil.example", "/"],
  ["/.//evil.example", "/"],
  ["https://evil.example", "/"],
  ["javascript:alert(1)", "/"],
  ["", "/"],
])("after the sign-in, %j leads to %s", (from, to) => {
  expect(returnPath({ search: "", state: { from } })).toBe(to);
  expect(returnPath({ search: `?${new URLSearchParams({ to: from }).toString()}`, state: null })).toBe(to);
});

test("without a return path, the sign-in leads to the sessions", () => {
  expect(returnPath({ state: null })).toBe("/");
  expect(returnPath({ search: "?to=", state: {} })).toBe("/");
});

test("a page of the gateway is not a page of the application", () => {
  expect(isServerPage(consent)).toBe(true);
  expect(isServerPage("/sessions/oauth/")).toBe(false);
});
