import { describe, expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { scopes } from "../wire/access.ts";
import { createAccounts, type NewToken, type Principal } from "./index.ts";
import { createTerminalTickets } from "./terminal-tickets.ts";

const caller: Principal = {
  accountId: "owner",
  kind: "token",
  scopes: new Set(scopes),
  folders: null,
  tokenId: "laptop",
  browserSessionId: null,
  app: null,
  resource: "all",
  expiresAt: null,
};

function setUp() {
  const clock = createFakeClock();
  return { clock, tickets: createTerminalTickets({ clock, refresh: async (principal) => principal }) };
}

describe("a ticket", () => {
  test("opens one connection, to its session and in its mode", async () => {
    const { tickets, clock } = setUp();
    const { ticket, mode, expiresAt } = tickets.create(caller, { sessionId: "s1", mode: "observe" });
    expect(ticket).toMatch(/^[\w-]{43}$/);
    expect([mode, Date.parse(expiresAt) - clock.now()]).toEqual(["observe", 30_000]);
    expect(await tickets.redeem(ticket)).toMatchObject({ principal: caller, sessionId: "s1", mode: "observe" });
    expect(await tickets.redeem(ticket)).toBe(null);
    expect(await tickets.redeem("unknown")).toBe(null);
  });

  test("opens only one of two simultaneous connections", async () => {
    const { tickets } = setUp();
    const { ticket } = tickets.create(caller, { sessionId: "s1" });
    const redeemed = await Promise.all([tickets.redeem(ticket), tickets.redeem(ticket)]);
    expect(redeemed.filter((each) => each !== null)).toHaveLength(1);
  });

  test("is valid for 30 seconds", async () => {
    const { tickets, clock } = setUp();
    const [early, late] = [tickets.create(caller, { sessionId: "s1" }), tickets.create(caller, { sessionId: "s1" })];
    await clock.advance(29_999);
    expect(await tickets.redeem(early.ticket)).not.toBe(null);
    await clock.advance(1);
    expect(await tickets.redeem(late.ticket)).toBe(null);
  });

  test("allows driving if its caller can, and is refused to a caller who asks to drive but cannot", () => {
    const { tickets } = setUp();
    const observer: Principal = { ...caller, scopes: new Set(["coding:read"]) };
    expect(tickets.create(caller, { sessionId: "s1" }).mode).toBe("drive");
    expect(tickets.create(observer, { sessionId: "s1" }).mode).toBe("observe");
    expect(() => tickets.create(observer, { sessionId: "s1", mode: "drive" })).toThrow("coding:drive");
    const blind: Principal = { ...caller, scopes: new Set(["coding:drive", "admin"]) };
    expect(() => tickets.create(blind, { sessionId: "s1" })).toThrow("coding:read");
  });

  test("is one of at most 32 of its caller; the oldest is dropped, and other callers' tickets stay", async () => {
    const { tickets } = setUp();
    const other = tickets.create({ ...caller, tokenId: "phone" }, { sessionId: "s1" });
    const [oldest, ...rest] = Array.from({ length: 33 }, () => tickets.create(caller, { sessionId: "s1" }).ticket);
    expect(await tickets.redeem(oldest ?? "")).toBe(null);
    expect(await tickets.redeem(other.ticket)).not.toBe(null);
    for (const ticket of rest) expect(await tickets.redeem(ticket)).not.toBe(null);
  });
});

describeOnBothStores("the caller who redeemed a ticket", (openStore: OpenTestStore) => {
  async function withToken(wanted: Partial<NewToken> = {}) {
    const { db } = await openStore();
    const clock = createFakeClock();
    const accounts = createAccounts({ db, clock });
    const { accountId } = await accounts.owner();
    const { token, record } = await accounts.tokens.create(accountId, {
      name: "laptop",
      scopes: ["coding:read", "coding:drive"],
      expiresAt: null,
      folders: null,
      ...wanted,
    });
    const principal = await accounts.authenticate({ kind: "header", authorization: `Bearer ${token}` });
    return { accounts, accountId, clock, principal, revoke: () => accounts.tokens.revoke(accountId, record.tokenId) };
  }

  test("is looked up again when redeeming and later", async () => {
    const { accounts, principal, revoke } = await withToken();
    const [first, second] = [1, 2].map(() => accounts.tickets.create(principal, { sessionId: "s1" }).ticket);
    const redeemed = await accounts.tickets.redeem(first ?? "");
    expect(redeemed).toMatchObject({ principal, mode: "drive" });
    expect(await redeemed?.refresh()).toEqual(principal);
    await revoke();
    expect(await errorCode(redeemed?.refresh() ?? Promise.resolve())).toBe("unauthenticated");
    expect(await accounts.tickets.redeem(second ?? "")).toBe(null);
  });

  test("is refused when the token has expired since", async () => {
    const { clock, accounts, principal } = await withToken({ expiresAt: createFakeClock().now() + 10_000 });
    const { ticket } = accounts.tickets.create(principal, { sessionId: "s1" });
    await clock.advance(10_000);
    expect(await accounts.tickets.redeem(ticket)).toBe(null);
  });

  test("can be the owner, over the socket or while authentication is off", async () => {
    const { accounts } = await withToken();
    for (const kind of ["socket", "open"] as const) {
      const principal = await accounts.authenticate({ kind });
      const redeemed = await accounts.tickets.redeem(accounts.tickets.create(principal, { sessionId: "s1" }).ticket);
      expect(await redeemed?.refresh()).toEqual(principal);
    }
  });
});
