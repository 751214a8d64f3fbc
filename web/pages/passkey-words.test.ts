import { expect, test } from "vitest";
import { PosternClientError } from "../../src/client/index.ts";
import { passkeyObstacle, passkeyProblem } from "./passkey-words.ts";

const able = { secure: true, supported: true };

test.each([
  ["http://localhost:7177/settings", able],
  ["https://agents.example.org/", able],
])("passkeys work at %s", (href, browser) => {
  expect(passkeyObstacle({ href, ...browser })).toBeNull();
});

test.each([
  ["http://127.0.0.1:7177/settings?x=1", "http://localhost:7177/settings?x=1"],
  ["http://[::1]:7177/sign-in#secret", "http://localhost:7177/sign-in"],
])("%s gets a link to localhost, without the fragment", (href, elsewhere) => {
  expect(passkeyObstacle({ href, ...able })).toEqual({
    words: expect.stringMatching(/host name|work only at/),
    elsewhere,
  });
});

test("the link leads to the gateway's own address if it is known", () => {
  const page = { href: "http://localhost:7177/settings?x=1#y", ...able };
  const baseUrl = "https://agents.example.org/";
  expect(passkeyObstacle({ ...page, baseUrl })?.elsewhere).toBe("https://agents.example.org/settings?x=1");
  expect(passkeyObstacle({ ...page, baseUrl: "http://localhost:7177" })).toBeNull();
  expect(passkeyObstacle({ ...page, baseUrl: "http://192.168.1.7:7177" })).toBeNull();
});

test("an IP address, plain http and an old browser each give the reason", () => {
  expect(passkeyObstacle({ href: "https://192.168.1.7/", ...able })?.words).toMatch(/not work at 192\.168\.1\.7/);
  expect(passkeyObstacle({ href: "https://[fe80::1]/", ...able })?.words).toMatch(/not work at \[fe80::1\]/);
  expect(passkeyObstacle({ href: "http://box.lan/", secure: false, supported: false })?.words).toMatch(/https/);
  expect(passkeyObstacle({ href: "http://localhost/", secure: true, supported: false })?.words).toMatch(
    /does not support/,
  );
});

test("a failed ceremony is explained", () => {
  expect(passkeyProblem(Object.assign(new Error("x"), { name: "NotAllowedError" }))).toMatch(/No passkey was used/);
  expect(passkeyProblem(Object.assign(new Error("x"), { name: "InvalidStateError" }))).toMatch(/already/);
  expect(passkeyProblem(new PosternClientError("rate_limited", "Too often."))).toBe("Too often.");
});
