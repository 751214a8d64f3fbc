import { AsyncLocalStorage } from "node:async_hooks";
import type { Scope } from "../wire/access.ts";
import type { AuthorizationRequest } from "./oauth.ts";
import type { AuditNote } from "./ports.ts";
import type { RecordWrite } from "./record-store.ts";

/** Collects the library's writes during one request. The library makes them one by one; the store receives them all at once. */
export interface RequestWork {
  readonly writes: RecordWrite[];
  /** The owner of the code or token in the request, once known. */
  owner: { readonly appId: string; readonly accountId: string | null; readonly clientId: string | null } | null;
  readonly from: AuditNote["from"];
  /** The decision being replayed; null for requests of clients. */
  readonly decision: ReplayedDecision | null;
}

/** A decision that a request replays, and its result. */
export interface ReplayedDecision {
  readonly accountId: string;
  readonly held: ReadonlySet<Scope>;
  /** Applied once client, redirect, challenge and scopes are valid. */
  readonly verdict: "allow" | "deny" | "describe" | "refuse";
  /** The client and the requested scopes, set once the request is valid. */
  seen: AuthorizationRequest | null;
  /** The error code as in RFC 6749; null while there is none. */
  error: string | null;
  /** The error message to show when no redirect is possible. */
  refusal: string | null;
}

const current = new AsyncLocalStorage<RequestWork>();

/** The work of the current request. */
export function currentWork(): RequestWork | undefined {
  return current.getStore();
}

/** Runs `task` as a separate request. */
export function withWork<T>(
  { from, decision = null }: { readonly from: AuditNote["from"]; readonly decision?: ReplayedDecision | null },
  task: (work: RequestWork) => Promise<T>,
): Promise<T> {
  const work: RequestWork = { writes: [], owner: null, from, decision };
  return current.run(work, () => task(work));
}
