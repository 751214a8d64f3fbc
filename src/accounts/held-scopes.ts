import type { Kysely } from "kysely";
import { z } from "zod";
import { compiledLookup } from "../storage/compiled-query.ts";
import type { Tables } from "../storage/schema.ts";
import { scopes as allScopes, type Scope, scopeSchema } from "../wire/access.ts";

const storedScopesSchema = z.array(scopeSchema);
const everyScope: ReadonlySet<Scope> = new Set(allScopes);

/** What an account may at most, from its row. */
export function heldScopes(row: { readonly is_owner: number; readonly scopes: string }): ReadonlySet<Scope> {
  return row.is_owner === 1 ? everyScope : parseScopes(row.scopes);
}

/** A JSON list of scopes, as tokens and accounts have it in the store. */
export function parseScopes(text: string): ReadonlySet<Scope> {
  return new Set(storedScopesSchema.parse(JSON.parse(text)));
}

/** What both sides hold. */
export function bothHold(scopes: ReadonlySet<Scope>, held: ReadonlySet<Scope>): ReadonlySet<Scope> {
  return new Set([...scopes].filter((scope) => held.has(scope)));
}

/** An account, as far as its callers need to be known. */
export interface Holder {
  readonly accountId: string;
  readonly held: ReadonlySet<Scope>;
}

/** Looks accounts up as they are now: a removal by another process counts at once. Null when there is none. */
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
