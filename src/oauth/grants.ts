import type { Clock } from "../core/clock.ts";
import { newUuid, sha256 } from "../core/ids.ts";
import type { Scope } from "../wire/access.ts";
import type { LetIn } from "./let-in.ts";
import { lifetimes } from "./lifetimes.ts";
import type { RecordWrite } from "./record-store.ts";
import { resourceNames, type TokenResource } from "./resources.ts";

/** What an account lets a client do. */
export interface NewGrant {
  readonly accountId: string;
  readonly clientId: string;
  readonly resource: TokenResource;
  readonly scopes: readonly Scope[];
  /** Host or scheme of the redirect; null for a device. */
  readonly host: string | null;
}

/**
 * A grant is a connected app, and its id names it: it is told to whoever may see the app, and is good for nothing at the
 * authorization server's own routes.
 */
export function newGrant(
  wanted: NewGrant,
  clock: Clock,
): Pick<LetIn, "grant"> & { readonly appId: string; readonly write: RecordWrite } {
  const { accountId, clientId, resource, scopes, host } = wanted;
  const appId = newUuid();
  const hash = sha256(appId);
  const now = clock.now();
  const allowed = { resources: { [resourceNames[resource]]: scopes.join(" ") }, host };
  return {
    appId,
    grant: { accountId, hash, host, scopes, payloadEnd: JSON.stringify(allowed).slice(1) },
    write: {
      kind: "save",
      row: {
        kind: "Grant",
        id_hash: hash,
        payload: JSON.stringify({ kind: "Grant", appId, accountId, clientId, ...allowed }),
        account_id: accountId,
        client_id: clientId,
        grant_hash: hash,
        user_code_hash: null,
        consumed_at: null,
        last_used_at: null,
        created_at: now,
        expires_at: now + lifetimes.grantMs,
      },
    },
  };
}
