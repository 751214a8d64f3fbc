import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import { type Clock, isoTime } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import { compiledLookup } from "../storage/compiled-query.ts";
import type { Tables } from "../storage/schema.ts";
import { scopes as allScopes, type Scope, scopeSchema } from "../wire/access.ts";
import type { AccountRecord, AddAccountInput } from "../wire/accounts.ts";

/** A person who can sign in. */
export interface Account extends AccountRecord {
  readonly scopes: Scope[];
}

/** Our own limit, far more than anyone needs. */
const maxAccounts = 1_000;

export interface AccountStore {
  /** The account that owns this gateway, created on first use. */
  owner(): Promise<Account>;
  /** Null when no account has this id. */
  find(accountId: string): Promise<Account | null>;
  /** The owner first, then the oldest. */
  list(): Promise<readonly Account[]>;
  /** @throws PosternError `account_exists` | `invalid_request` */
  add(wanted: AddAccountInput): Promise<Account>;
  /**
   * Removes the account with its tokens, browsers, passkeys, apps, memory and other data. Its open connections end within five seconds.
   * @throws PosternError `account_not_found` | `invalid_request` for the owner
   */
  remove(accountId: string): Promise<Account>;
}

/**
 * Removes an account and the data that other modules keep for it, atomically.
 * @param remove removes the account itself, in the same transaction
 */
export type RemoveWithAll = (accountId: string, remove: (within: Kysely<Tables>) => Promise<void>) => Promise<void>;

export function createAccountStore(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  /** When omitted, only the account itself is removed. */
  readonly removeWithAll?: RemoveWithAll | undefined;
}): AccountStore {
  const { db, clock, removeWithAll = async (_, remove) => remove(db) } = deps;
  let known: Account | undefined;

  async function findOwner(): Promise<Account | undefined> {
    const row = await db.selectFrom("accounts").selectAll().where("is_owner", "=", 1).executeTakeFirst();
    return row && toAccount(row);
  }

  const byId = compiledLookup<Selectable<Tables["accounts"]>>(db, (accountId) =>
    db.selectFrom("accounts").selectAll().where("account_id", "=", accountId),
  );

  async function find(accountId: string): Promise<Account | null> {
    const row = await byId(accountId);
    return row === undefined ? null : toAccount(row);
  }

  async function list(): Promise<readonly Account[]> {
    const rows = await db
      .selectFrom("accounts")
      .selectAll()
      .orderBy("is_owner", "desc")
      .orderBy("created_at")
      .orderBy("account_id")
      .execute();
    return rows.map(toAccount);
  }

  return {
    async owner() {
      if (known !== undefined) return known; // the owner never changes
      known = await findOwner();
      if (known !== undefined) return known;
      await db
        .insertInto("accounts")
        .values({ account_id: newUuid(), name: "owner", is_owner: 1, scopes: "[]", created_at: clock.now() })
        .onConflict((conflict) => conflict.doNothing()) // another process was first
        .execute();
      known = await findOwner();
      if (known === undefined) throw new Error("The owner's account was created but cannot be found.");
      return known;
    },

    find,

    list,

    async add({ name, scopes: wanted }) {
      if (wanted.length === 0) throw new PosternError("invalid_request", "An account needs at least one scope.");
      if ((await list()).length >= maxAccounts) {
        throw new PosternError("invalid_request", `The limit of ${maxAccounts} accounts is reached. Remove one first.`);
      }
      const row = {
        account_id: newUuid(),
        name,
        is_owner: 0,
        scopes: JSON.stringify(allScopes.filter((scope) => scope !== "admin" && wanted.includes(scope))),
        created_at: clock.now(),
      };
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("accounts")
        .values(row)
        .onConflict((conflict) => conflict.column("name").doNothing())
        .executeTakeFirst();
      if (numInsertedOrUpdatedRows === 1n) return toAccount(row);
      throw new PosternError("account_exists", `An account named ${name} already exists.`);
    },

    async remove(accountId) {
      const account = await find(accountId);
      if (account === null)
        throw new PosternError(
          "account_not_found",
          `No account ${accountId}. Run \`postern account list\` to see the accounts.`,
        );
      if (account.isOwner) throw new PosternError("invalid_request", "The owner's account cannot be removed.");
      await removeWithAll(accountId, async (within) => {
        await within.deleteFrom("accounts").where("account_id", "=", accountId).execute();
      });
      return account;
    },
  };
}

function toAccount(row: Selectable<Tables["accounts"]>): Account {
  return {
    accountId: row.account_id,
    name: row.name,
    isOwner: row.is_owner === 1,
    scopes: [...heldScopes(row)],
    createdAt: isoTime(row.created_at),
  };
}

const storedScopesSchema = z.array(scopeSchema);
const everyScope: ReadonlySet<Scope> = new Set(allScopes);

/** The maximum scopes of an account, from its row. */
export function heldScopes(row: { readonly is_owner: number; readonly scopes: string }): ReadonlySet<Scope> {
  return row.is_owner === 1 ? everyScope : parseScopes(row.scopes);
}

/** A JSON list of scopes, as stored for tokens and accounts. */
export function parseScopes(text: string): ReadonlySet<Scope> {
  return new Set(storedScopesSchema.parse(JSON.parse(text)));
}

/** The intersection of two lists of scopes. */
export function bothHold(scopes: ReadonlySet<Scope>, held: ReadonlySet<Scope>): ReadonlySet<Scope> {
  return new Set([...scopes].filter((scope) => held.has(scope)));
}

/** The parts of an account that callers need. */
export interface Holder {
  readonly accountId: string;
  readonly held: ReadonlySet<Scope>;
}

/** Looks up an account's current row, so a removal by another process takes effect at once. Null when there is no such account. */
export interface Holders {
  byId(accountId: string): Promise<Holder | null>;
  byName(name: string): Promise<Holder | null>;
}

export function createHolders(db: Kysely<Tables>): Holders {
  const by = (column: "account_id" | "name") => {
    const find = compiledLookup(db, (value) =>
      db.selectFrom("accounts").select(["account_id", "is_owner", "scopes"]).where(column, "=", value),
    );
    return async (value: string): Promise<Holder | null> => {
      const row = await find(value);
      return row === undefined ? null : { accountId: row.account_id, held: heldScopes(row) };
    };
  };
  return { byId: by("account_id"), byName: by("name") };
}
