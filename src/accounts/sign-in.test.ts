import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { beginTransaction } from "../../test/support/open-transaction.ts";
import { scopes } from "../wire/access.ts";
import { createAccounts } from "./index.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const unauthenticated = { code: "unauthenticated" };

async function setUp(openStore: OpenTestStore) {
  const store = await openStore();
  const clock = createFakeClock();
  const accounts = createAccounts({ db: store.db, clock });
  const { accountId } = await accounts.owner();
  const link = async () => (await accounts.signIn.createLink(accountId)).link;
  const redeem = (given: string) => accounts.signIn.redeem(given, { userAgent: "Firefox" });
  const signIn = async (userAgent = "Firefox") => accounts.signIn.redeem(await link(), { userAgent });
  const call = ({ cookie, key }: { readonly cookie: string; readonly key: string }) =>
    accounts.authenticate({ kind: "browser", cookies: [cookie], key });
  return { store, clock, accounts, accountId, link, redeem, signIn, call };
}

describeOnBothStores("a sign-in link", (openStore) => {
  test("signs in one browser, once", async () => {
    const { accounts, accountId, clock, redeem, call } = await setUp(openStore);
    const { url, expiresAt } = await accounts.signIn.createUrl(accountId, "https://postern.example.org/");
    expect(url).toMatch(/^https:\/\/postern\.example\.org\/sign-in#[\w-]{43}$/);
    expect(Date.parse(expiresAt) - clock.now()).toBe(10 * minuteMs);
    const link = url.split("#")[1] ?? "";
    const { cookie, key, browserSessionId, expiresAt: signedInUntil } = await redeem(link);
    expect(Date.parse(signedInUntil) - clock.now()).toBe(30 * dayMs);
    expect(await call({ cookie, key })).toEqual({
      accountId,
      kind: "browser",
      scopes: new Set(scopes),
      folders: null,
      tokenId: null,
      app: null,
      resource: "all",
      expiresAt: null,
      browserSessionId,
    });
    await expect(redeem(link)).rejects.toMatchObject(unauthenticated);
    await expect(redeem("unknown")).rejects.toMatchObject(unauthenticated);
  });

  test("signs in one browser when two processes redeem it at the same time", async () => {
    const { store, clock, accounts, accountId, link } = await setUp(openStore);
    const other = createAccounts({ db: (await store.openAgain()).db, clock });
    const given = await link();
    const attempts = [accounts, other, accounts, other].map(({ signIn }) =>
      errorCode(signIn.redeem(given, { userAgent: "" })),
    );
    const codes = await Promise.all(attempts);
    expect(codes.filter((code) => code === null)).toHaveLength(1);
    expect(codes.filter((code) => code === "unauthenticated")).toHaveLength(3);
    expect(await accounts.browsers.list(accountId)).toHaveLength(1);
  });

  test("is valid for ten minutes, to the millisecond", async () => {
    const { store, clock, link, redeem } = await setUp(openStore);
    const [early, late] = [await link(), await link()];
    await clock.advance(10 * minuteMs - 1);
    await redeem(early);
    await clock.advance(1);
    await expect(redeem(late)).rejects.toMatchObject(unauthenticated);
    await link();
    expect(await store.db.selectFrom("sign_in_links").selectAll().execute()).toHaveLength(1);
  });

  test("is one of at most ten open links; a new one ends the oldest", async () => {
    const { clock, link, redeem } = await setUp(openStore);
    const links: string[] = [];
    for (let made = 0; made < 11; made += 1) {
      links.push(await link());
      await clock.advance(1);
    }
    await expect(redeem(links[0] ?? "")).rejects.toMatchObject(unauthenticated);
    for (const each of links.slice(1)) await redeem(each);
  });
});

describeOnBothStores("a browser session", (openStore) => {
  test("requires both its own cookie and its own key", async () => {
    const { accounts, signIn, call } = await setUp(openStore);
    const [one, two] = [await signIn(), await signIn()];
    await expect(call({ cookie: one.cookie, key: two.key })).rejects.toMatchObject(unauthenticated);
    await expect(call({ cookie: one.key, key: one.cookie })).rejects.toMatchObject(unauthenticated);
    await expect(call({ cookie: one.cookie, key: one.cookie })).rejects.toMatchObject(unauthenticated);
    await expect(call({ cookie: one.key, key: one.key })).rejects.toMatchObject(unauthenticated);
    for (const odd of ["", " ", "x", "\0", `${one.key} `, "x".repeat(10_000)]) {
      await expect(call({ cookie: odd, key: one.key }), odd).rejects.toMatchObject(unauthenticated);
      await expect(call({ cookie: one.cookie, key: odd }), odd).rejects.toMatchObject(unauthenticated);
    }
    for (const [cookies, key] of [
      [[one.cookie], undefined],
      [[], one.key],
      [[], undefined],
    ] as const) {
      const attempt = accounts.authenticate({ kind: "browser", cookies, key });
      await expect(attempt).rejects.toMatchObject(unauthenticated);
    }
    // A server on another port of the host may set cookies with the same name; these must not interfere.
    const cookies = ["planted", two.cookie, one.cookie];
    const principal = await accounts.authenticate({ kind: "browser", cookies, key: one.key });
    expect(principal.browserSessionId).toBe(one.browserSessionId);
  });

  test("is identified for pages by its cookie alone while it is in force, but not by its key alone", async () => {
    const { accounts, accountId, clock, signIn } = await setUp(openStore);
    const [one, two] = [await signIn(), await signIn()];
    const seen = await accounts.browserOf(["planted", "x".repeat(43), one.cookie, two.cookie]);
    expect(seen).toMatchObject({ kind: "browser", accountId, browserSessionId: one.browserSessionId });
    for (const cookies of [[], ["planted"], [one.key], [`${one.cookie} `]]) {
      expect(await accounts.browserOf(cookies)).toBeNull();
    }
    await accounts.browsers.revoke(accountId, one.browserSessionId);
    expect((await accounts.browserOf([one.cookie, two.cookie]))?.browserSessionId).toBe(two.browserSessionId);
    await clock.advance(30 * dayMs);
    expect(await accounts.browserOf([two.cookie])).toBeNull();
  });

  test("stores nothing that could be used to sign in", async () => {
    const { store, link, redeem } = await setUp(openStore);
    const [used, open] = [await link(), await link()];
    const { cookie, key } = await redeem(used);
    const { db } = store;
    const stored = JSON.stringify([
      await db.selectFrom("sign_in_links").selectAll().execute(),
      await db.selectFrom("browser_sessions").selectAll().execute(),
    ]);
    for (const secret of [used, open, cookie, key]) {
      expect(secret).toMatch(/^[\w-]{43}$/);
      expect(stored).not.toContain(secret);
    }
  });

  test("lasts for 30 days after its last use, and for 400 at most", async () => {
    const { store, accounts, accountId, clock, signIn, call } = await setUp(openStore);
    const [used, unused] = [await signIn("used"), await signIn("unused")];
    const isNoted = () =>
      expect
        .poll(() =>
          store.db
            .selectFrom("browser_sessions")
            .select("user_agent")
            .where("last_used_at", "=", clock.now())
            .execute(),
        )
        .toEqual([{ user_agent: "used" }]);
    const begin = clock.now();
    await clock.advance(30 * dayMs - 1);
    await call(used);
    await isNoted();
    await clock.advance(1);
    await expect(call(unused)).rejects.toMatchObject(unauthenticated);
    expect(await accounts.browsers.list(accountId)).toMatchObject([{ userAgent: "used" }]); // expired sessions are removed
    while (clock.now() < begin + 390 * dayMs) {
      await clock.advance(20 * dayMs);
      await call(used);
      await isNoted();
    }
    const [record] = await accounts.browsers.list(accountId);
    expect(Date.parse(record?.expiresAt ?? "") - begin).toBe(400 * dayMs);
    await clock.advance(begin + 400 * dayMs - clock.now());
    await expect(call(used)).rejects.toMatchObject(unauthenticated);
  });

  test("records its use at most once a minute", async () => {
    const { accounts, accountId, clock, signIn, call } = await setUp(openStore);
    const browser = await signIn();
    const lastUsed = async () => Date.parse((await accounts.browsers.list(accountId))[0]?.lastUsedAt ?? "");
    const first = await lastUsed();
    expect(first).toBe(clock.now());
    await clock.advance(minuteMs - 1);
    await call(browser);
    await clock.advance(1);
    await call(browser);
    await expect.poll(lastUsed).not.toBe(first);
    expect(await lastUsed()).toBe(first + minuteMs);
  });

  test("is authenticated after an idle period during another write", async () => {
    const { store, clock, accountId, signIn, call } = await setUp(openStore);
    const browser = await signIn();
    await clock.advance(2 * minuteMs);
    await beginTransaction(store.db, (tx) =>
      tx.insertInto("folders").values({ path: "/a", scopes: "[]", created_at: 1 }).execute(),
    );
    expect(await call(browser)).toMatchObject({ kind: "browser", accountId });
  });

  test("is revoked at once by its own account only, in every process and on open connections", async () => {
    const { store, clock, accounts, accountId, signIn, call } = await setUp(openStore);
    const browser = await signIn("phone");
    const principal = await call(browser);
    const redeemed = await accounts.tickets.redeem(accounts.tickets.create(principal, { sessionId: "s1" }).ticket);
    expect(await redeemed?.refresh()).toEqual(principal);
    const revoke = (owner: string) =>
      createAccounts({ db: other.db, clock }).browsers.revoke(owner, browser.browserSessionId);
    const other = await store.openAgain();
    expect(await errorCode(revoke("somebody else"))).toBe("browser_session_not_found");
    await revoke(accountId);
    await expect(call(browser)).rejects.toMatchObject(unauthenticated);
    await expect(accounts.refresh(principal)).rejects.toMatchObject(unauthenticated);
    await expect(redeemed?.refresh()).rejects.toMatchObject(unauthenticated);
    expect(await errorCode(revoke(accountId))).toBe("browser_session_not_found");
    expect(await accounts.browsers.list(accountId)).toEqual([]);
  });

  test("is one of at most a hundred; the one that was idle longest is signed out", async () => {
    const { store, accounts, accountId, clock, signIn, call } = await setUp(openStore);
    const first = await signIn("first");
    const [row] = await store.db.selectFrom("browser_sessions").selectAll().execute();
    if (row === undefined) throw new Error("No row.");
    const others = Array.from({ length: 99 }, (_, at) => ({
      ...row,
      browser_session_id: `other-${at}`,
      cookie_hash: `cookie-${at}`,
      key_hash: `key-${at}`,
      last_used_at: row.last_used_at + at + 1,
    }));
    await store.db.insertInto("browser_sessions").values(others).execute();
    await clock.advance(minuteMs);
    await call(first);
    const newest = await signIn("x".repeat(1_000));
    const left = await accounts.browsers.list(accountId);
    expect(left).toHaveLength(100);
    expect(left.map(({ browserSessionId }) => browserSessionId)).not.toContain("other-0");
    expect(left[0]).toMatchObject({ browserSessionId: newest.browserSessionId, userAgent: "x".repeat(200) });
    await call(first);
  });

  test("of another account can do what that account can", async () => {
    const { accounts, call } = await setUp(openStore);
    const guest = await accounts.directory.add({ name: "guest", scopes: ["coding:read"] });
    const { link } = await accounts.signIn.createLink(guest.accountId);
    const principal = await call(await accounts.signIn.redeem(link, { userAgent: "" }));
    expect(principal).toMatchObject({ accountId: guest.accountId, scopes: new Set(["coding:read"]) });
    expect(await accounts.accountOf(principal)).toEqual(guest);
  });
});
