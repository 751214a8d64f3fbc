import type { Kysely } from "kysely";
import type { Tables } from "../storage/schema.ts";
import { type SessionEvent, sessionEventSchema } from "../wire/events.ts";
import { originId } from "./event-id.ts";

export interface EventBatch {
  readonly events: readonly SessionEvent[];
  /** Memos by session; null deletes the memo. */
  readonly memos: ReadonlyMap<string, string | null>;
  readonly at: number;
}

/** SQLite allows 32,766 parameters in a statement, PostgreSQL 65,535. */
const rowsAtOnce = 500;

/** SQL of events and memos. */
export function createEventStore(db: Kysely<Tables>) {
  async function putMemos(on: Kysely<Tables>, { memos, at }: EventBatch): Promise<void> {
    for (const [session_id, memo] of memos) {
      if (memo === null) {
        await on.deleteFrom("session_event_memos").where("session_id", "=", session_id).execute();
        continue;
      }
      await on
        .insertInto("session_event_memos")
        .values({ session_id, memo, updated_at: at })
        .onConflict((conflict) => conflict.column("session_id").doUpdateSet({ memo, updated_at: at }))
        .execute();
    }
  }

  async function pruned(): Promise<string> {
    const mark = await db.selectFrom("event_marks").select("event_id").where("name", "=", "pruned").executeTakeFirst();
    return mark?.event_id ?? originId;
  }

  return {
    /** The newest deleted id; {@link originId} if none. */
    pruned,

    /** @param alsoWrite runs in the same transaction */
    async write(batch: EventBatch, alsoWrite: (transaction: Kysely<Tables>) => Promise<void>): Promise<void> {
      await db.transaction().execute(async (trx) => {
        for (let from = 0; from < batch.events.length; from += rowsAtOnce) {
          const rows = batch.events.slice(from, from + rowsAtOnce);
          await trx
            .insertInto("session_events")
            .values(rows.map((event) => ({ event_id: event.id, body: JSON.stringify(event) })))
            .execute();
        }
        await putMemos(trx, batch);
        await alsoWrite(trx);
      });
    },

    /** Events with larger ids, in order. */
    async after(eventId: string, limit: number): Promise<readonly SessionEvent[]> {
      const rows = await db
        .selectFrom("session_events")
        .select("body")
        .where("event_id", ">", eventId)
        .orderBy("event_id")
        .limit(limit)
        .execute();
      return rows.map(({ body }) => sessionEventSchema.parse(JSON.parse(body)));
    },

    async has(eventId: string): Promise<boolean> {
      const row = await db
        .selectFrom("session_events")
        .select("event_id")
        .where("event_id", "=", eventId)
        .executeTakeFirst();
      return row !== undefined;
    },

    /** The newest id ever; {@link originId} if none. */
    async newest(): Promise<string> {
      const row = await db
        .selectFrom("session_events")
        .select("event_id")
        .orderBy("event_id", "desc")
        .limit(1)
        .executeTakeFirst();
      return row?.event_id ?? pruned();
    },

    /** Keeps the newest `keep` events from `oldest` on. */
    async prune({ oldest, keep }: { readonly oldest: string; readonly keep: number }): Promise<void> {
      const surplus = await db
        .selectFrom("session_events")
        .select("event_id")
        .orderBy("event_id", "desc")
        .offset(keep)
        .limit(1)
        .executeTakeFirst();
      const expired = await db
        .selectFrom("session_events")
        .select("event_id")
        .where("event_id", "<", oldest)
        .orderBy("event_id", "desc")
        .limit(1)
        .executeTakeFirst();
      const last = [surplus?.event_id, expired?.event_id]
        .filter((id) => id !== undefined)
        .toSorted()
        .at(-1);
      if (last === undefined) return;
      await db.transaction().execute(async (trx) => {
        await trx.deleteFrom("session_events").where("event_id", "<=", last).execute();
        await trx
          .insertInto("event_marks")
          .values({ name: "pruned", event_id: last })
          .onConflict((conflict) => conflict.column("name").doUpdateSet({ event_id: last }))
          .execute();
      });
    },

    async memo(sessionId: string): Promise<string | null> {
      const row = await db
        .selectFrom("session_event_memos")
        .select("memo")
        .where("session_id", "=", sessionId)
        .executeTakeFirst();
      return row?.memo ?? null;
    },

    async memos(): Promise<ReadonlyMap<string, string>> {
      const rows = await db.selectFrom("session_event_memos").select(["session_id", "memo"]).execute();
      return new Map(rows.map((row) => [row.session_id, row.memo]));
    },
  };
}

export type EventStore = ReturnType<typeof createEventStore>;
