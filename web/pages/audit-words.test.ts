import { expect, test } from "vitest";
import { type AuditEntry, auditActions } from "../../src/wire/accounts.ts";
import { dayWords } from "../ui/days.ts";
import { auditWords, fromWhere } from "./audit-words.ts";

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

test("what somebody did is told with what a person would ask next", () => {
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
    did: "let in",
    name: "editor",
    scopes: ["coding:read"],
    more: ["At chat.example"],
  });
});

test("nobody known, no details, and details that nobody expected still make a sentence", () => {
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

test("days have names while they are near, also across a change of the clock", () => {
  const now = new Date(2026, 2, 29, 12).getTime();
  expect(dayWords(new Date(2026, 2, 29, 0, 1).toISOString(), now)).toBe("Today");
  expect(dayWords(new Date(2026, 2, 28, 23, 59).toISOString(), now)).toBe("Yesterday");
  expect(dayWords(new Date(2026, 2, 1).toISOString(), now)).toMatch(/2026/);
});
