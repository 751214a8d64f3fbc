import type { Kysely, Selectable } from "kysely";
import type { Tables } from "../storage/schema.ts";

export type ComparisonRow = Selectable<Tables["comparisons"]>;
export type ContenderRow = Selectable<Tables["comparison_sessions"]>;

/** A comparison and its contenders, in the order of the request. */
export interface StoredComparison {
  readonly row: ComparisonRow;
  readonly contenders: readonly ContenderRow[];
}

export interface ComparisonStore {
  /** Stores a comparison, or finds the one of the same account and idempotency key. */
  begin(row: ComparisonRow, contenders: readonly ContenderRow[]): Promise<StoredComparison>;
  findByKey(accountId: string, key: string): Promise<StoredComparison | null>;
  find(accountId: string, comparisonId: string): Promise<StoredComparison | null>;
  /** Newest first. */
  list(accountId: string): Promise<readonly StoredComparison[]>;
  setOutcome(
    of: Pick<ContenderRow, "comparison_id" | "position">,
    outcome: Pick<ContenderRow, "session_id" | "error_code" | "error_detail">,
  ): Promise<void>;
  /** @returns false if another contender is already kept */
  keep(comparisonId: string, position: number): Promise<boolean>;
  /** @returns whether it was there */
  remove(accountId: string, comparisonId: string): Promise<boolean>;
  /** Removes sessions, and comparisons of which no session is left. */
  forget(sessionIds: readonly string[]): Promise<void>;
}

/** Limit for each account. The oldest are removed; their sessions stay. */
const maxComparisons = 200;

export function createComparisonStore(db: Kysely<Tables>): ComparisonStore {
  async function withContenders(rows: readonly ComparisonRow[]): Promise<readonly StoredComparison[]> {
    if (rows.length === 0) return [];
    const ids = rows.map(({ comparison_id }) => comparison_id);
    const all = await db
      .selectFrom("comparison_sessions")
      .selectAll()
      .where("comparison_id", "in", ids)
      .orderBy("position")
      .execute();
    return rows.map((row) => ({
      row,
      contenders: all.filter(({ comparison_id }) => comparison_id === row.comparison_id),
    }));
  }

  async function one(row: ComparisonRow | undefined): Promise<StoredComparison | null> {
    return row === undefined ? null : ((await withContenders([row]))[0] ?? null);
  }

  async function findByKey(accountId: string, key: string): Promise<StoredComparison | null> {
    const rows = db.selectFrom("comparisons").selectAll().where("account_id", "=", accountId);
    return one(await rows.where("idempotency_key", "=", key).executeTakeFirst());
  }

  return {
    async begin(row, contenders) {
      const isNew = await db.transaction().execute(async (within) => {
        const { numInsertedOrUpdatedRows } = await within
          .insertInto("comparisons")
          .values(row)
          .onConflict((conflict) => conflict.columns(["account_id", "idempotency_key"]).doNothing())
          .executeTakeFirst();
        if (numInsertedOrUpdatedRows === 0n) return false;
        await within
          .insertInto("comparison_sessions")
          .values([...contenders])
          .execute();
        const newest = within
          .selectFrom("comparisons")
          .select("comparison_id")
          .where("account_id", "=", row.account_id)
          .orderBy("created_at", "desc")
          .orderBy("comparison_id")
          .limit(maxComparisons);
        await within
          .deleteFrom("comparisons")
          .where("account_id", "=", row.account_id)
          .where("comparison_id", "not in", newest)
          .execute();
        return true;
      });
      const known = isNew ? null : await findByKey(row.account_id, row.idempotency_key ?? "");
      return known ?? { row, contenders };
    },

    findByKey,

    async find(accountId, comparisonId) {
      const rows = db.selectFrom("comparisons").selectAll().where("account_id", "=", accountId);
      return one(await rows.where("comparison_id", "=", comparisonId).executeTakeFirst());
    },

    async list(accountId) {
      const rows = await db
        .selectFrom("comparisons")
        .selectAll()
        .where("account_id", "=", accountId)
        .orderBy("created_at", "desc")
        .orderBy("comparison_id")
        .limit(maxComparisons)
        .execute();
      return withContenders(rows);
    },

    async setOutcome({ comparison_id, position }, outcome) {
      await db
        .updateTable("comparison_sessions")
        .set(outcome)
        .where("comparison_id", "=", comparison_id)
        .where("position", "=", position)
        .execute();
    },

    async keep(comparisonId, position) {
      const { numUpdatedRows } = await db
        .updateTable("comparisons")
        .set({ kept_position: position })
        .where("comparison_id", "=", comparisonId)
        .where((eb) => eb.or([eb("kept_position", "is", null), eb("kept_position", "=", position)]))
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },

    async remove(accountId, comparisonId) {
      const { numDeletedRows } = await db
        .deleteFrom("comparisons")
        .where("account_id", "=", accountId)
        .where("comparison_id", "=", comparisonId)
        .executeTakeFirst();
      return numDeletedRows === 1n;
    },

    async forget(sessionIds) {
      if (sessionIds.length === 0) return;
      await db.transaction().execute(async (within) => {
        const gone = await within
          .deleteFrom("comparison_sessions")
          .where("session_id", "in", sessionIds)
          .returning("comparison_id")
          .execute();
        if (gone.length === 0) return;
        const left = within
          .selectFrom("comparison_sessions")
          .select("comparison_id")
          .where("session_id", "is not", null);
        await within
          .deleteFrom("comparisons")
          .where("comparison_id", "in", [...new Set(gone.map(({ comparison_id }) => comparison_id))])
          .where("comparison_id", "not in", left)
          .execute();
      });
    },
  };
}
