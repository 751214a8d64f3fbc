import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";

/** Somebody who may sign in. */
export interface Account {
  readonly accountId: string;
  readonly name: string;
  readonly isOwner: boolean;
}

/** SQL of accounts. */
export interface AccountStore {
  /** The one account that owns this gateway, made when it is first asked for. */
  owner(): Promise<Account>;
  /** Null when there is none of this id. */
  find(accountId: string): Promise<Account | null>;
}

/** @see AccountStore */
export function createAccountStore(deps: { readonly db: Kysely<Tables>; readonly clock: Clock }): AccountStore {
  const { db, clock } = deps;
  let known: Account | undefined;

  async function findOwner(): Promise<Account | undefined> {
    const row = await db.selectFrom("accounts").selectAll().where("is_owner", "=", 1).executeTakeFirst();
    return row && { accountId: row.account_id, name: row.name, isOwner: true };
  }

  return {
    async owner() {
      if (known !== undefined) return known; // the owner never changes
      known = await findOwner();
      if (known !== undefined) return known;
      await db
        .insertInto("accounts")
        .values({ account_id: newUuid(), name: "owner", is_owner: 1, created_at: clock.now() })
        .onConflict((conflict) => conflict.doNothing()) // another process was first
        .execute();
      known = await findOwner();
      if (known === undefined) throw new Error("The owner's account was made but is not there.");
      return known;
    },

    async find(accountId) {
      const row = await db.selectFrom("accounts").selectAll().where("account_id", "=", accountId).executeTakeFirst();
      return row === undefined ? null : { accountId, name: row.name, isOwner: row.is_owner === 1 };
    },
  };
}
