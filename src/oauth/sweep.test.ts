import type { Insertable } from "kysely";
import { expect, test } from "vitest";
import { startAuthorizationServer } from "../../test/support/authorization-server.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";
import { silentLog } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";
import { lifetimes } from "./lifetimes.ts";
import { createSweep } from "./sweep.ts";

const hourMs = 3_600_000;

describeOnBothStores("the sweep", (openStore) => {
  test("removes expired records in steps, and nothing else", async () => {
    const store = await openStore();
    let hand = Date.now();
    let pauses = 0;
    const clock: Clock = {
      ...systemClock,
      now: () => hand,
      sleep: async () => {
        pauses += 1;
      },
    };
    const server = await startAuthorizationServer(store, { clock });
    const { accessToken } = await server.letIn(await server.newClient());
    const over = Array.from({ length: 450 }, (_, index): Insertable<Tables["oauth_records"]> => {
      const id_hash = sha256(`over ${index}`);
      const nothing = { account_id: null, client_id: null, grant_hash: null, user_code_hash: null, consumed_at: null };
      const times = { last_used_at: null, created_at: hand, expires_at: hand - 11 * 60_000 };
      return { kind: "AccessToken", id_hash, payload: "{}", ...nothing, ...times };
    });
    await store.db.insertInto("oauth_records").values(over).execute();
    const sweep = createSweep({ db: store.db, clock, log: silentLog, rotate: async () => undefined });
    expect(await sweep.run()).toBe(450);
    expect(pauses).toBe(2);
    expect(await server.oauth.tokens.find(accessToken)).not.toBeNull();
    hand += lifetimes.grantMs + hourMs;
    await sweep.run();
    expect(await store.db.selectFrom("oauth_records").select("kind").execute()).toEqual([]);
    await sweep.close();
  });

  test("removes clients that are no longer authorized, but none that the owner added", async () => {
    const store = await openStore();
    const clock = createFakeClock(Date.now());
    const server = await startAuthorizationServer(store, { clock });
    const unused = await server.newClient();
    const used = await server.newClient();
    await server.letIn(used);
    const added = await server.oauth.clients.add({ name: "Mine", redirectUris: [], confidential: false });
    const sweep = createSweep({ db: store.db, clock, log: silentLog, rotate: async () => undefined });
    const left = async () => (await server.oauth.clients.list()).map(({ clientId }) => clientId).toSorted();
    await sweep.run();
    expect(await left()).toEqual([unused, used, added.clientId].toSorted());
    await clock.advance(lifetimes.unusedClientMs);
    await sweep.run();
    expect(await left()).toEqual([used, added.clientId].toSorted());
    await clock.advance(lifetimes.idleClientMs);
    await sweep.run();
    expect(await left()).toEqual([added.clientId]);
    await sweep.close();
  });

  test("runs automatically in a running gateway, and stops with it", async () => {
    const clock = createFakeClock(Date.now());
    const server = await startAuthorizationServer(await openStore(), { clock });
    expect(clock.nextAt).toBeNull();
    server.oauth.start();
    const first = clock.nextAt ?? 0;
    await clock.advance(first - clock.now());
    await expect.poll(() => clock.nextAt).toBeGreaterThan(first);
    await server.oauth.close();
    expect(clock.nextAt).toBeNull();
  });
});
