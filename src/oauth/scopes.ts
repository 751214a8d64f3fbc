import { appScopes, defaultAppScopes, type Scope } from "../wire/access.ts";

/** A scope that an app can be allowed. */
export type AppScope = (typeof appScopes)[number];

/**
 * The scopes that a request names, each once and in their own order; null when one of them is none that an app can have.
 * @param text as in RFC 6749 section 3.3; undefined asks for the default
 * @param limit what the client registered for; undefined is no limit
 */
export function readScopes(text: string | undefined, limit?: string): readonly AppScope[] | null {
  const allowed = limit === undefined ? null : new Set(limit.split(" "));
  if (text === undefined) return defaultAppScopes.filter((scope) => allowed === null || allowed.has(scope));
  const named = new Set(text.split(" ").filter((word) => word !== ""));
  const known = appScopes.filter((scope) => named.has(scope));
  return known.length === named.size ? known : null;
}

/** Of these what the account holds: nobody gives what they lack. */
export function heldOf(wanted: readonly AppScope[], held: ReadonlySet<Scope>): readonly AppScope[] {
  return wanted.filter((scope) => held.has(scope));
}
