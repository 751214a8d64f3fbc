import { expect, test } from "vitest";
import { callerKey, ownsKey } from "./caller.ts";

const person = { accountId: "a", kind: "browser", tokenId: null, app: null } as const;
const cli = { accountId: "a", kind: "socket" } as const;
const token = { accountId: "a", kind: "token", tokenId: "1" } as const;
const app = { accountId: "a", kind: "app", tokenId: null, app: { appId: "x" } } as const;

test("a token or app owns what it made, and a person also what the account's tokens and apps made", () => {
  const all = [person, cli, token, { ...token, tokenId: "2" }, app, { ...app, app: { appId: "y" } }];
  const owned = (caller: (typeof all)[number]) => all.map((other) => ownsKey(caller, callerKey(other)));
  expect(owned(person)).toEqual([true, true, true, true, true, true]);
  expect(owned(cli)).toEqual([true, true, true, true, true, true]);
  expect(owned(token)).toEqual([false, false, true, false, false, false]);
  expect(owned(app)).toEqual([false, false, false, false, true, false]);
  for (const caller of all) {
    expect(ownsKey({ ...caller, accountId: "b" }, callerKey(person))).toBe(false);
    expect(ownsKey({ ...caller, accountId: "b" }, callerKey(token))).toBe(false);
    expect(ownsKey(caller, null), "its creator is unknown").toBe(false);
  }
});
