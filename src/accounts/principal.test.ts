import { expect, test } from "vitest";
import { callerOf, type Principal } from "./principal.ts";

test("a caller keeps its identity when its token is refreshed", () => {
  const base: Principal = {
    accountId: "a",
    kind: "token",
    scopes: new Set(),
    folders: null,
    tokenId: "t1",
    browserSessionId: null,
    app: null,
    resource: "all",
    expiresAt: null,
  };
  const app = { clientId: "c", appId: "p" };
  const names = (differs: Partial<Principal>): readonly string[] =>
    ["t1", "t2"].map((tokenId) => callerOf({ ...base, ...differs, tokenId }));
  for (const differs of [{ kind: "app", app }, { kind: "jwt" }] as const) {
    const [first, second] = names(differs);
    expect(first).toBe(second);
  }
  const [first, second] = names({});
  expect(first).not.toBe(second);
  expect(callerOf({ ...base, kind: "jwt" })).not.toBe(callerOf({ ...base, kind: "jwt", accountId: "b" }));
});
