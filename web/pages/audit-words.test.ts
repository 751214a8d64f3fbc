import { expect, test } from "vitest";
import { type AuditEntry, auditActions } from "../../src/wire/accounts.ts";
import { auditWords, browserName, documentHost, fromWhere, letInTo } from "./audit-words.ts";

const entry: AuditEntry = {
  auditId: "a1",
  at: "2026-05-04T10:00:00.000Z",
  account: { accountId: "o", name: "owner" },
  action: "signed_in",
  subject: null,
  details: {},
  address: "127.0.0.1",
  userAgent: "Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0",
};

test("an entry names the actor, the action and its details", () => {
  expect(auditWords({ ...entry, details: { by: "passkey" } })).toMatchObject({
    who: "owner",
    did: "signed in with a passkey",
  });
  const details = {
    name: "editor",
    host: "chat.example",
    scopes: ["coding:read", "of a newer gateway"],
    clientId: "c",
  };
  expect(auditWords({ ...entry, action: "app_allowed", details })).toMatchObject({
    did: "approved",
    name: "editor",
    scopes: ["coding:read"],
    more: ["At chat.example"],
  });
});

test("an unknown account and unexpected details still make a sentence", () => {
  for (const action of auditActions) {
    const words = auditWords({
      ...entry,
      account: null,
      action,
      subject: "s1",
      details: { name: 7, scopes: "all", x: 1 },
    });
    expect(words.who).not.toBe("");
    expect(words.did).not.toBe("");
    expect(words.more).toContain("x: 1");
    if (words.name !== null) expect(words.name).toBe("s1");
  }
});

test.each([
  [{ address: null, userAgent: null }, ["Command line"]],
  [{ address: "local", userAgent: null }, ["Command line"]],
  [{ address: "10.0.0.7", userAgent: null }, ["10.0.0.7"]],
  [{ address: "::1", userAgent: entry.userAgent }, ["Firefox on Linux", "::1, this machine"]],
])("%j is %s", (from, words) => {
  expect(fromWhere(from)).toEqual(words);
});

test.each([
  [null, "On a device, with a code"],
  ["localhost:33418", "A program on the browser’s machine (localhost:33418)"],
  ["[::1]:80", "A program on the browser’s machine ([::1]:80)"],
  ["com.example.app:", "A program on your device (com.example.app:)"],
  ["localhost.evil.example", "At localhost.evil.example"],
  ["chat.example", "At chat.example"],
])("an app with the host %s: %s", (host, words) => {
  expect(letInTo(host)).toBe(words);
});

test("a client's metadata URL identifies its host", () => {
  expect(documentHost("https://chat.example/client.json")).toBe("chat.example");
  expect(documentHost("k3J9x")).toBeNull();
  expect(documentHost("https://")).toBeNull();
});

test.each([
  [
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/146.0.0.0 Safari/537.36",
    "Chrome on Linux",
  ],
  [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/146.0.0.0 Safari/537.36 Edg/146.0",
    "Edge on Windows",
  ],
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:150.0) Gecko/20100101 Firefox/150.0", "Firefox on macOS"],
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Mobile/15E148 Safari/604.1",
    "Safari on iPhone",
  ],
  [
    "Mozilla/5.0 (Linux; Android 16; Pixel 9) AppleWebKit/537.36 Chrome/146.0.0.0 Mobile Safari/537.36",
    "Chrome on Android",
  ],
  ["curl/8.1", "curl/8.1"],
  ["", "Unknown browser"],
])("%s is %s", (userAgent, name) => {
  expect(browserName(userAgent)).toBe(name);
});
