import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { createAccounts } from "../accounts/index.ts";
import { PosternError } from "../core/errors.ts";
import { mask, maskSecrets, namesSecret } from "../logs/index.ts";
import type { Scope } from "../wire/access.ts";
import type { Turn } from "../wire/turn.ts";
import { createSharing, type ShareCreator } from "./index.ts";

const hourMs = 3_600_000;
const { signal } = new AbortController();
const key = `sk-${"a1".repeat(20)}`;
const noNote = async (): Promise<void> => undefined;

function turn(index: number, text: string): Turn {
  const role = index % 2 === 0 ? "user" : "assistant";
  return { index, role, at: null, endedAt: null, text, blocks: [{ type: "text", text }], model: null, usage: null };
}

async function setUp(openStore: OpenTestStore) {
  const store = await openStore();
  const clock = createFakeClock();
  const accounts = createAccounts({ db: store.db, clock });
  const { accountId } = await accounts.owner();
  const world = { turns: [turn(0, "hello"), turn(1, `the key is ${key}`)], visible: true, reads: true };
  const open = (db = store.db) =>
    createSharing({
      db,
      clock,
      masking: { mask, maskSecrets, namesSecret },
      namesOf: async (sessionId) => [sessionId, "alias"],
      stillReads: async () => world.reads,
      async read(sessionId, { after, limit }) {
        if (!world.visible) throw new PosternError("session_not_found", "not yours");
        const turns = world.turns.filter(({ index }) => index > after).slice(0, limit);
        const { length: turnCount } = world.turns;
        return {
          sessionId,
          title: "T",
          agent: "A",
          agentName: "a",
          dir: "/secret-dir",
          createdAt: "2026-01-01T00:00:00Z",
          turnCount,
          turns,
        };
      },
    });
  const sharing = open();
  const creator: ShareCreator = {
    accountId,
    scopes: new Set<Scope>(["coding:read"]),
    folders: null,
    tokenId: null,
    app: null,
    until: null,
  };
  const create = (as = creator, from = sharing) => from.create("s1", hourMs, { creator: as, signal, note: noNote });
  async function read(secret: string): Promise<string> {
    let page = "";
    for await (const piece of (await sharing.open(secret, signal)).pieces) page += piece;
    return page;
  }
  return { store, clock, accounts, accountId, world, sharing, open, creator, create, read };
}

describeOnBothStores("a link to a session", (openStore) => {
  test("shows the conversation without secrets and without its folder, until it expires", async () => {
    const { create, read, clock, store } = await setUp(openStore);
    const { secret, share } = await create();
    const page = await read(secret);
    expect(page).toContain("hello");
    expect(page).toContain("the key is [masked]");
    expect(page).not.toContain("/secret-dir");
    expect(page).not.toContain("<script");
    const stored = JSON.stringify(await store.db.selectFrom("shares").selectAll().execute());
    expect(stored).not.toContain(secret);
    await clock.advance(Date.parse(share.expiresAt) - clock.now() - 1);
    await read(secret);
    await clock.advance(1);
    expect(await errorCode(read(secret))).toBe("share_not_found");
  });

  test("ends when it is revoked, by its account only, also while it is read", async () => {
    const { create, read, sharing, accountId, world, creator } = await setUp(openStore);
    world.turns = Array.from({ length: 40 }, (_, index) => turn(index, `turn ${index}`));
    const { secret, share } = await create();
    expect(await errorCode(sharing.revoke("another", share.shareId, noNote))).toBe("share_not_found");
    expect(await sharing.list("s1", { caller: { ...creator, accountId: "another" }, signal })).toEqual([]);
    expect(await sharing.list("s1", { caller: creator, signal })).toEqual([share]);
    const { pieces } = await sharing.open(secret, signal);
    await pieces.next();
    await sharing.revoke(accountId, share.shareId, noNote);
    const rest = async () => {
      for await (const _ of pieces);
    };
    expect(await errorCode(rest())).toBe("share_not_found");
    expect(await errorCode(read(secret))).toBe("share_not_found");
  });

  test("ends when its creator may not read, its account is removed, or the session is forgotten", async () => {
    const { accounts, create, creator, read, sharing, world } = await setUp(openStore);
    const { secret } = await create();
    world.reads = false;
    expect(await errorCode(read(secret))).toBe("share_not_found");
    world.reads = true;
    world.visible = false;
    expect(await errorCode(read(secret))).toBe("share_not_found");
    world.visible = true;
    await read(secret);
    await sharing.forget(["other", "s1"]);
    expect(await errorCode(read(secret))).toBe("share_not_found");
    const guest = await accounts.directory.add({ name: "guest", scopes: ["coding:read"] });
    const theirs = await create({ ...creator, accountId: guest.accountId });
    await read(theirs.secret);
    await accounts.directory.remove(guest.accountId);
    expect(await errorCode(read(theirs.secret))).toBe("share_not_found");
  });

  test("is not created for a session that its creator cannot read", async () => {
    const { create, world, store } = await setUp(openStore);
    world.visible = false;
    expect(await errorCode(create())).toBe("session_not_found");
    expect(await store.db.selectFrom("shares").selectAll().execute()).toEqual([]);
  });

  test("never outlives a credential that cannot be looked up again", async () => {
    const { create, creator, clock } = await setUp(openStore);
    const until = clock.now() + 60_000;
    expect((await create({ ...creator, until })).share.expiresAt).toBe(new Date(until).toISOString());
  });

  test("is opened for the first time once, and counts each open", async () => {
    const { create, sharing, creator } = await setUp(openStore);
    const { secret } = await create();
    const opened = await Promise.all(Array.from({ length: 5 }, () => sharing.open(secret, signal)));
    expect(opened.filter(({ isFirst }) => isFirst)).toHaveLength(1);
    const [share] = await sharing.list("s1", { caller: creator, signal });
    expect(share).toMatchObject({ opens: 5, firstOpenedAt: expect.any(String) });
  });

  test("is one of 200 at most, even when two gateways create one at the same time", async () => {
    const { create, creator, store, open, accountId, clock } = await setUp(openStore);
    const rows = Array.from({ length: 199 }, (_, at) => ({
      share_id: `r${at}`,
      secret_hash: `h${at}`,
      account_id: accountId,
      session_id: "s1",
      token_id: null,
      app_id: null,
      folders: null,
      created_at: 1,
      expires_at: clock.now() + hourMs,
      first_opened_at: null,
    }));
    await store.db.insertInto("shares").values(rows).execute();
    const other = open((await store.openAgain()).db);
    const codes = await Promise.all([create(), create(creator, other), create()].map(errorCode));
    expect(codes.filter((code) => code === "invalid_request")).toHaveLength(2);
  });
});
