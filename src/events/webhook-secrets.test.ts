import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { describeOnBothStores, openSqliteTestStore, type TestStore } from "../../test/support/database.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { isSigned, startWebhookReceiver } from "../../test/support/webhook-receiver.ts";
import { createAccounts } from "../accounts/index.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createAddressList, createGuardedFetch } from "../platform/guarded-fetch.ts";
import { openSecretBox } from "../platform/secret-box.ts";
import { createEvents } from "./index.ts";

const plainSecret = "whsec_cGxhaW4gc2VjcmV0IG9mIGEgc3RvcmUgb2YgYmVmb3Jl";

/** Events on this store, with the key in this file. */
async function setUp(store: TestStore, keyPath: string) {
  const clock = createFakeClock();
  const owner = { ...(await createAccounts({ db: store.db, clock }).owner()), folders: null };
  const troubles: string[] = [];
  const secrets = await openSecretBox(keyPath, ({ message }) => troubles.push(message));
  const fetch = createGuardedFetch({ clock: systemClock, allowed: createAddressList(["127.0.0.1"]) });
  const deps = { db: store.db, clock, log: silentLog, secrets, fetch, isVisible: async () => true };
  const events = await createEvents(deps);
  const stored = async () =>
    (await store.db.selectFrom("webhooks").select("secret").execute()).map((row) => row.secret);
  return { events, owner, troubles, stored };
}

describeOnBothStores("the secret of a webhook", (openStore) => {
  test("is sealed in the store, and still signs", async () => {
    const { events, owner, stored } = await setUp(await openStore(), join(await makeTempFolder(), "key"));
    const receiver = await startWebhookReceiver();
    const { webhookId, secret } = await events.webhooks.add(owner, { url: receiver.url });
    expect(await events.webhooks.test(owner, webhookId)).toMatchObject({ ok: true });
    expect(receiver.requests.every((request) => isSigned(request, secret))).toBe(true);
    expect(JSON.stringify(await stored())).not.toContain(secret.slice("whsec_".length));
  });

  test("of an older store is sealed when first read", async () => {
    const store = await openStore();
    const keyPath = join(await makeTempFolder(), "key");
    const { events, owner, stored } = await setUp(store, keyPath);
    const receiver = await startWebhookReceiver();
    const { webhookId } = await events.webhooks.add(owner, { url: receiver.url });
    await store.db.updateTable("webhooks").set({ secret: plainSecret }).execute();
    expect(await events.webhooks.test(owner, webhookId)).toMatchObject({ ok: true });
    expect((await stored())[0]).toMatch(/^v1\./);
    const next = await setUp(store, keyPath);
    expect(await next.events.webhooks.test(owner, webhookId)).toMatchObject({ ok: true });
    expect(receiver.requests.map((request) => isSigned(request, plainSecret))).toEqual([true, true]);
  });

  test("whose key is lost cannot sign, and reports that; everything else works", async () => {
    const store = await openStore();
    const folder = await makeTempFolder();
    const { events, owner } = await setUp(store, join(folder, "key"));
    const receiver = await startWebhookReceiver();
    const { webhookId } = await events.webhooks.add(owner, { url: receiver.url });
    const other = await setUp(store, join(folder, "another key"));
    expect(await other.events.webhooks.list(owner)).toHaveLength(1);
    expect(await other.events.webhooks.test(owner, webhookId)).toMatchObject({
      ok: false,
      error: expect.stringMatching(`${webhookId}.*Restore the previous key`),
    });
    expect(receiver.requests).toEqual([]);
    expect(other.troubles).toEqual([]);
    const added = await other.events.webhooks.add(owner, { url: receiver.url });
    expect(await other.events.webhooks.test(owner, added.webhookId)).toMatchObject({ ok: true });
  });

  test("with an invalid key file: nothing is sealed with it, and what needs no key works", async () => {
    const store = await openStore();
    const keyPath = join(await makeTempFolder(), "key");
    await writeFile(keyPath, "broken");
    const { events, owner, troubles } = await setUp(store, keyPath);
    expect(troubles).toEqual([expect.stringContaining("is not a key")]);
    const adding = events.webhooks.add(owner, { url: "https://example.org/" });
    await expect(adding).rejects.toMatchObject({ code: "store_unavailable" });
    expect(await events.webhooks.list(owner)).toEqual([]);
    expect(await readFile(keyPath, "utf8")).toBe("broken");
  });
});

test("an older store's files contain no webhook secret once sealed", async () => {
  const store = await openSqliteTestStore();
  const { events, owner } = await setUp(store, join(await makeTempFolder(), "key"));
  const ids = Array.from({ length: 20 }, (_, at) => `webhook ${at}`);
  for (const webhook_id of ids) {
    const row = {
      account_id: owner.accountId,
      url: "http://127.0.0.1:9/",
      secret: plainSecret,
      failures: 0,
      created_at: 1,
    };
    const none = { kinds: null, folders: null, disabled_at: null, disabled_reason: null };
    await store.db
      .insertInto("webhooks")
      .values({ webhook_id, ...row, ...none })
      .execute();
  }
  for (const webhookId of ids) await events.webhooks.test(owner, webhookId);
  await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
  const folder = dirname(store.place.path);
  const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "latin1")));
  expect(ids.every((webhookId) => files.join("").includes(webhookId))).toBe(true);
  expect(files.join("").includes(plainSecret)).toBe(false);
});
