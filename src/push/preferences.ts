import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";
import { type PushKind, type PushPreferences, pushKindSchema, pushKinds } from "../wire/push.ts";

/** The preferences of an account that has not changed them. */
export const defaultPreferences: PushPreferences = {
  kinds: [...pushKinds],
  quietHours: null,
  desktopDelaySeconds: 30,
  showTitles: false,
  showRequests: false,
};

/** SQL of the preferences of accounts. */
export function createPreferenceStore({ db, clock }: { readonly db: Kysely<Tables>; readonly clock: Clock }) {
  async function put(on: Kysely<Tables>, accountId: string, preferences: PushPreferences): Promise<void> {
    const { kinds, quietHours, desktopDelaySeconds, showTitles, showRequests } = preferences;
    const values = {
      quiet_from: quietHours?.from ?? null,
      quiet_to: quietHours?.to ?? null,
      time_zone: quietHours?.timeZone ?? null,
      desktop_delay_ms: desktopDelaySeconds * 1_000,
      show_titles: Number(showTitles),
      show_requests: Number(showRequests),
      updated_at: clock.now(),
    };
    // Also locks the row, so that two simultaneous requests do not mix their kinds.
    await on
      .insertInto("push_preferences")
      .values({ account_id: accountId, ...values })
      .onConflict((conflict) => conflict.column("account_id").doUpdateSet(values))
      .execute();
    await on.deleteFrom("push_kinds").where("account_id", "=", accountId).execute();
    const rows = [...new Set(kinds)].map((kind) => ({ kind, account_id: accountId }));
    if (rows.length > 0) await on.insertInto("push_kinds").values(rows).execute();
  }

  async function find(accountId: string): Promise<PushPreferences | null> {
    const row = await db
      .selectFrom("push_preferences")
      .selectAll()
      .where("account_id", "=", accountId)
      .executeTakeFirst();
    if (row === undefined) return null;
    const wanted = await db.selectFrom("push_kinds").select("kind").where("account_id", "=", accountId).execute();
    const kinds = new Set(wanted.map(({ kind }) => pushKindSchema.parse(kind)));
    const { quiet_from: from, quiet_to: to, time_zone: timeZone } = row;
    return {
      kinds: pushKinds.filter((kind) => kinds.has(kind)),
      quietHours: from === null || to === null || timeZone === null ? null : { from, to, timeZone },
      desktopDelaySeconds: row.desktop_delay_ms / 1_000,
      showTitles: row.show_titles === 1,
      showRequests: row.show_requests === 1,
    };
  }

  return {
    async get(accountId: string): Promise<PushPreferences> {
      return (await find(accountId)) ?? defaultPreferences;
    },

    async set(accountId: string, preferences: PushPreferences): Promise<void> {
      await db.transaction().execute((trx) => put(trx, accountId, preferences));
    },

    /** Stores the defaults of an account that has none, so that {@link accountsFor} finds it. */
    async ensure(on: Kysely<Tables>, accountId: string): Promise<void> {
      const row = await on
        .selectFrom("push_preferences")
        .select("account_id")
        .where("account_id", "=", accountId)
        .executeTakeFirst();
      if (row === undefined) await put(on, accountId, defaultPreferences);
    },

    /** Accounts that want one of these kinds and have a browser to notify. */
    async accountsFor(kinds: readonly PushKind[]): Promise<readonly string[]> {
      const rows = await db
        .selectFrom("push_kinds as wanted")
        .select("wanted.account_id")
        .distinct()
        .where("wanted.kind", "in", kinds)
        .where(({ exists, selectFrom }) =>
          exists(
            selectFrom("push_subscriptions")
              .select("subscription_id")
              .whereRef("push_subscriptions.account_id", "=", "wanted.account_id"),
          ),
        )
        .execute();
      return rows.map((row) => row.account_id);
    },
  };
}

export type PreferenceStore = ReturnType<typeof createPreferenceStore>;
