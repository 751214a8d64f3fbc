import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { beginTransaction } from "../../test/support/open-transaction.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { scopes } from "../wire/access.ts";
import { createAccounts, type NewToken, requireScope } from "./index.ts";

const startAt = Date.parse("2026-01-01T00:00:00Z");
const hourMs = 3_600_000;

/** A clock that the test advances. */
function createHand(): { clock: Clock; turn: (ms: number) => void } {
  let now = startAt;
  return {
    clock: { ...systemClock, now: () => now },
    turn: (ms) => {
      now += ms;
    },
  };
}

async function setUp(openStore: OpenTestStore) {
  const store = await openStore();
  const { clock, turn } = createHand();
  const accounts = createAccounts({ db: store.db, clock });
  const { accountId } = await accounts.owner();
  const create = (wanted: Partial<NewToken> = {}) =>
    accounts.tokens.create(accountId, {
      name: "laptop",
      scopes: ["coding:read"],
      expiresAt: null,
      folders: null,
      ...wanted,
    });
  const signIn = (token: string) => accounts.authenticate({ kind: "header", authorization: `Bearer ${token}` });
  return { store, db: store.db, clock, turn, accounts, accountId, create, signIn };
}

describeOnBothStores("accounts", (openStore) => {
  test("have one owner, even when two processes create it at the same time", async () => {
    const store = await openStore();
    const other = await store.openAgain();
    const owners = await Promise.all(
      [store, other, store, other].map(({ db }) => createAccounts({ db, clock: systemClock }).owner()),
    );
    expect(new Set(owners.map(({ accountId }) => accountId)).size).toBe(1);
    expect(owners[0]).toMatchObject({ isOwner: true });
  });

  test("identify the owner by the socket, and every caller while authentication is off", async () => {
    const { accounts, accountId } = await setUp(openStore);
    for (const kind of ["socket", "open"] as const) {
      const principal = await accounts.authenticate({ kind });
      expect(principal).toEqual({
        accountId,
        kind,
        scopes: new Set(scopes),
        folders: null,
        tokenId: null,
        browserSessionId: null,
        app: null,
        resource: "all",
        expiresAt: null,
      });
    }
  });

  test("identify a caller by a personal token, with exactly its scopes", async () => {
    const { create, signIn, accountId } = await setUp(openStore);
    const { token, record } = await create({ scopes: ["coding:write", "coding:read", "coding:read"] });
    expect(token).toMatch(/^pst_[\w-]{43}$/);
    const principal = await signIn(token);
    expect(principal).toEqual({
      accountId,
      kind: "token",
      scopes: new Set(["coding:read", "coding:write"]),
      folders: null,
      tokenId: record.tokenId,
      browserSessionId: null,
      app: null,
      resource: "all",
      expiresAt: null,
    });
    expect(() => requireScope(principal, "coding:write")).not.toThrow();
    expect(() => requireScope(principal, "coding:drive")).toThrow(/coding:drive/);
  });

  test("refuse a token that is invalid or no longer in force", async () => {
    const { accounts, create, accountId } = await setUp(openStore);
    const { token, record } = await create();
    const codeOf = (authorization: string | undefined) =>
      errorCode(accounts.authenticate({ kind: "header", authorization }));
    expect(await codeOf(`bearer  ${token}`)).toBe(null); // the scheme is case-insensitive
    for (const wrong of [
      undefined,
      "",
      token,
      "Bearer",
      "Bearer ",
      `Basic ${token}`,
      `Bearer ${token}x`,
      `Bearer ${token.slice(0, -1)}`,
      `Bearer ${token} ${token}`,
      `Bearer ${token.toUpperCase()}`,
      "Bearer pst_",
      "Bearer ' or 1=1 --",
    ]) {
      expect(await codeOf(wrong), wrong).toBe("unauthenticated");
    }
    await accounts.tokens.revoke(accountId, record.tokenId);
    expect(await codeOf(`Bearer ${token}`)).toBe("unauthenticated");
  });

  test("expire a token to the millisecond", async () => {
    const { accounts, create, signIn, turn, accountId } = await setUp(openStore);
    const { token } = await create({ expiresAt: startAt + hourMs });
    turn(hourMs - 1);
    expect(await errorCode(signIn(token))).toBe(null);
    expect(await accounts.tokens.list(accountId)).toHaveLength(1);
    turn(1);
    expect(await errorCode(signIn(token))).toBe("unauthenticated");
    expect(await accounts.tokens.list(accountId)).toEqual([]);
  });

  test("store nothing that could be used to reconstruct a token", async () => {
    const { db, create, accounts, accountId } = await setUp(openStore);
    const { token } = await create();
    const stored = JSON.stringify([
      await db.selectFrom("personal_tokens").selectAll().execute(),
      await accounts.tokens.list(accountId),
    ]);
    expect(stored).not.toContain(token.slice("pst_".length));
  });

  test("list and revoke only the tokens of the given account", async () => {
    const { db, accounts, create, accountId, turn } = await setUp(openStore);
    const first = await create({ name: "first", expiresAt: startAt + hourMs });
    turn(1);
    const second = await create({ name: "second" });
    await db
      .insertInto("accounts")
      .values({ account_id: "guest", name: "guest", is_owner: 0, created_at: 1 })
      .execute();
    expect(await accounts.tokens.list(accountId)).toEqual([
      {
        tokenId: first.record.tokenId,
        name: "first",
        scopes: ["coding:read"],
        folders: null,
        createdAt: "2026-01-01T00:00:00.000Z",
        expiresAt: "2026-01-01T01:00:00.000Z",
        lastUsedAt: null,
      },
      second.record,
    ]);
    expect(await accounts.tokens.list("guest")).toEqual([]);
    expect(await errorCode(accounts.tokens.revoke("guest", first.record.tokenId))).toBe("token_not_found");
    expect(await errorCode(accounts.tokens.revoke(accountId, first.record.tokenId))).toBe(null);
    expect(await errorCode(accounts.tokens.revoke(accountId, first.record.tokenId))).toBe("token_not_found");
    expect(await accounts.tokens.list(accountId)).toEqual([second.record]);
  });

  test("apply a revocation by another process from the next call on", async () => {
    const { store, accounts, create, signIn, accountId, clock } = await setUp(openStore);
    const { token, record } = await create();
    await signIn(token);
    const elsewhere = createAccounts({ db: (await store.openAgain()).db, clock });
    await elsewhere.tokens.revoke(accountId, record.tokenId);
    expect(await errorCode(signIn(token))).toBe("unauthenticated");
    expect(await accounts.tokens.list(accountId)).toEqual([]);
  });

  test("record when a token was last used, at most once a minute", async () => {
    const { accounts, create, signIn, turn, accountId } = await setUp(openStore);
    const { token } = await create();
    const lastUsed = async () => (await accounts.tokens.list(accountId))[0]?.lastUsedAt;
    turn(1_000);
    await signIn(token);
    await expect.poll(lastUsed).toBe("2026-01-01T00:00:01.000Z");
    turn(59_999);
    await signIn(token);
    turn(1);
    await signIn(token);
    await expect.poll(lastUsed).not.toBe("2026-01-01T00:00:01.000Z");
    expect(await lastUsed()).toBe("2026-01-01T00:01:01.000Z");
  });

  test("authenticate a token that was idle for a long time during another write", async () => {
    const { db, create, signIn, accounts, accountId } = await setUp(openStore);
    const { token, record } = await create();
    const end = await beginTransaction(db, (tx) =>
      tx.insertInto("folders").values({ path: "/a", scopes: "[]", created_at: 1 }).execute(),
    );
    expect(await signIn(token)).toMatchObject({ kind: "token", tokenId: record.tokenId });
    await end();
    await expect.poll(async () => (await accounts.tokens.list(accountId))[0]?.lastUsedAt).not.toBeNull();
  });

  test("resolve a token's folders to real paths when it is created", async () => {
    const { create, signIn } = await setUp(openStore);
    const root = await makeTempFolder();
    await mkdir(join(root, "one"));
    await mkdir(join(root, "two"));
    await symlink(join(root, "one"), join(root, "link"));
    const { token, record } = await create({ folders: [join(root, "link"), `${root}/two/../one/`] });
    expect(record.folders).toEqual([join(root, "one")]);
    await rm(join(root, "link"));
    await symlink(join(root, "two"), join(root, "link"));
    expect((await signIn(token)).folders).toEqual([join(root, "one")]);
  });

  test("refuse invalid token options", async () => {
    const { create } = await setUp(openStore);
    const root = await makeTempFolder();
    await writeFile(join(root, "file"), "");
    const refusal = (wanted: Partial<NewToken>) => errorCode(create(wanted));
    expect(await refusal({ name: " " })).toBe("invalid_request");
    expect(await refusal({ scopes: [] })).toBe("invalid_request");
    expect(await refusal({ expiresAt: startAt })).toBe("invalid_request");
    expect(await refusal({ expiresAt: Number.NaN })).toBe("invalid_request");
    expect(await refusal({ folders: [] })).toBe("invalid_request");
    expect(await refusal({ folders: ["relative"] })).toBe("invalid_request");
    expect(await refusal({ folders: [join(root, "missing")] })).toBe("dir_not_found");
    expect(await refusal({ folders: [join(root, "file")] })).toBe("dir_not_found");
    expect(await refusal({ folders: [root], scopes: ["admin"] })).toBe("invalid_request");
    expect(await refusal({ folders: [root] })).toBe(null);
  });
});
