import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { newSecretBox } from "../../test/support/secret-box.ts";
import { turnEnded } from "../../test/support/session-events.ts";
import { createAccounts } from "../accounts/index.ts";
import { createDeliveryQueue } from "./delivery-queue.ts";
import { createEventIds, originId } from "./event-id.ts";
import { createWebhookStore } from "./webhook-store.ts";

describeOnBothStores("the queue of a webhook", (openStore) => {
  test("stays bounded while nothing is attempted: the oldest are given up", async () => {
    const { db } = await openStore();
    const clock = createFakeClock();
    const { accountId } = await createAccounts({ db, clock }).owner();
    const webhook = { webhookId: "w", url: "http://localhost/", kinds: null, folders: null };
    await createWebhookStore({ db, secrets: newSecretBox() }).add({
      ...webhook,
      accountId,
      secret: "whsec_",
      at: clock.now(),
    });
    const queue = createDeliveryQueue(db, { waiting: 20, dead: 10, delivered: 10 });
    const nextId = createEventIds(originId);
    const inState = (state: "waiting" | "dead") =>
      db.selectFrom("webhook_deliveries").select("event_id").where("state", "=", state).orderBy("event_id").execute();
    const ids: string[] = [];
    for (let batch = 0; batch < 30; batch += 1) {
      const entries = Array.from({ length: 10 }, () => {
        const event = { ...turnEnded(), id: nextId(clock.now()) };
        ids.push(event.id);
        return { webhookId: "w", event };
      });
      await db.transaction().execute((transaction) => queue.add(transaction, entries, clock.now()));
      expect((await inState("waiting")).length).toBeLessThan(20 + 100);
    }
    expect((await inState("waiting")).map(({ event_id }) => event_id)).toEqual(ids.slice(-20));
    expect((await inState("dead")).map(({ event_id }) => event_id)).toEqual(ids.slice(-30, -20));
  });
});
