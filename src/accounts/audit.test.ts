import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { type Log, silentLog } from "../core/log.ts";
import { type AuditLimits, type AuditNote, createAudit } from "./audit.ts";
import { createAccounts } from "./index.ts";

const nowhere = { address: null, userAgent: null };
const page = (
  more: { readonly before?: string; readonly kind?: "sign_in" | "token"; readonly limit?: number } = {},
) => ({
  limit: 200,
  ...more,
});

async function setUp(openStore: OpenTestStore, limits?: AuditLimits) {
  const store = await openStore();
  const clock = createFakeClock(Date.parse("2026-01-01T00:00:00Z"));
  const warned: string[] = [];
  const log: Log = { ...silentLog, error: (_fields, message) => void warned.push(message) };
  const accounts = createAccounts({ db: store.db, clock });
  const { accountId } = await accounts.owner();
  const audit = createAudit({ db: store.db, clock, log, ...(limits === undefined ? {} : { limits }) });
  const note = (entry: Partial<AuditNote> = {}) =>
    audit.note({ action: "signed_in", accountId, subject: null, details: {}, from: nowhere, ...entry });
  return { store, clock, accounts, accountId, audit, note, warned };
}

describeOnBothStores("the audit", (openStore) => {
  test("records who did what, when and from where", async () => {
    const { audit, note, accountId } = await setUp(openStore);
    await note({
      action: "token_created",
      subject: "t1\0",
      details: { name: "laptop\0" },
      from: { address: "192.0.2.7", userAgent: "x".repeat(1_000) },
    });
    await note({ action: "sign_in_refused", accountId: null });
    const entry = { auditId: expect.any(String), at: "2026-01-01T00:00:00.000Z" };
    expect(await audit.page(page())).toEqual({
      entries: [
        {
          ...entry,
          account: null,
          action: "sign_in_refused",
          subject: null,
          details: {},
          address: null,
          userAgent: null,
        },
        {
          ...entry,
          account: { accountId, name: "owner" },
          action: "token_created",
          subject: "t1",
          details: { name: "laptop\0" },
          address: "192.0.2.7",
          userAgent: "x".repeat(200),
        },
      ],
      hasMore: false,
    });
  });

  test("is read in pages, newest first, all entries or one kind", async () => {
    const { audit, note, clock } = await setUp(openStore);
    for (let at = 0; at < 7; at += 1) {
      await note({ action: at % 2 === 0 ? "signed_in" : "token_created", subject: String(at) });
      if (at === 3) await clock.advance(-60_000); // the machine's clock is set back
    }
    const subjects: (string | null)[] = [];
    let before: string | undefined;
    for (let more = true; more; ) {
      const { entries, hasMore } = await audit.page(page({ limit: 3, ...(before === undefined ? {} : { before }) }));
      subjects.push(...entries.map(({ subject }) => subject));
      before = entries.at(-1)?.auditId;
      more = hasMore;
    }
    expect(subjects).toEqual(["6", "5", "4", "3", "2", "1", "0"]);
    const tokens = await audit.page(page({ kind: "token" }));
    expect(tokens.entries.map(({ subject }) => subject)).toEqual(["5", "3", "1"]);
  });

  test("keeps the newest entries; anonymous entries never displace those of an account", async () => {
    const { audit, note, clock, store } = await setUp(openStore, { perAccount: 150, known: 1_000, unknown: 20 });
    await note({ subject: "first" });
    for (let at = 0; at < 205; at += 1) await note({ action: "sign_in_refused", accountId: null, subject: String(at) });
    await clock.advance(1);
    expect((await audit.page(page({ limit: 200 }))).entries.at(-1)).toMatchObject({ subject: "first" });
    const unknown = async () => (await store.db.selectFrom("audit_entries").select("account_id").execute()).length - 1;
    expect(await unknown()).toBeLessThan(20 + 100);
    for (let at = 0; at < 300; at += 1) await note({ subject: String(at) });
    const { entries } = await audit.page(page({ limit: 200 }));
    expect(entries[0]).toMatchObject({ subject: "299" });
    const all = await store.db.selectFrom("audit_entries").select("audit_id").execute();
    expect(all.length).toBeLessThan(150 + 20 + 100);
  });

  test("keeps the newest entries of each account, so that no account displaces another's", async () => {
    const { accounts, audit, note, store } = await setUp(openStore, { perAccount: 10, known: 200, unknown: 20 });
    const guest = await accounts.directory.add({ name: "guest", scopes: ["coding:read"] });
    await note({ subject: "the owner's own" });
    for (let at = 0; at < 301; at += 1) await note({ accountId: guest.accountId, subject: String(at) });
    const { entries } = await audit.page(page({ limit: 200 }));
    expect(entries).toHaveLength(11);
    expect(entries[0]).toMatchObject({ subject: "300" });
    expect(entries.at(-1)).toMatchObject({ subject: "the owner's own" });
    const many = createAudit({
      db: store.db,
      clock: createFakeClock(),
      limits: { perAccount: 10, known: 5, unknown: 1 },
    });
    await many.note({ action: "signed_in", accountId: guest.accountId, subject: null, details: {}, from: nowhere });
    expect((await audit.page(page())).entries, "all together").toHaveLength(5);
  });

  test("keeps the name of a removed account", async () => {
    const { accounts, audit, note } = await setUp(openStore);
    const guest = await accounts.directory.add({ name: "guest", scopes: ["coding:read"] });
    await note({ accountId: guest.accountId });
    await accounts.directory.remove(guest.accountId);
    expect((await audit.page(page())).entries).toMatchObject([
      { account: { accountId: guest.accountId, name: "guest" } },
    ]);
  });

  test("never blocks an action: a failed write is logged", async () => {
    const { store, note, warned, audit } = await setUp(openStore);
    await note({ details: { name: "x".repeat(10_000) } });
    expect((await audit.page(page())).entries).toMatchObject([{ details: { tooLong: true } }]);
    await note({ details: { loop: 1n } });
    await store.close();
    await note();
    expect(warned).toEqual(["cannot write to the audit log", "cannot write to the audit log"]);
  });
});
