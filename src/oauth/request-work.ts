import { AsyncLocalStorage } from "node:async_hooks";
import type { Scope } from "../wire/access.ts";
import type { AuthorizationRequest } from "./oauth.ts";
import type { AuditNote } from "./ports.ts";
import type { RecordWrite } from "./record-store.ts";

/** What one request through the library does, gathered: the library writes piece by piece, the store gets it at once. */
export interface RequestWork {
  readonly writes: RecordWrite[];
  /** Whose code or token the request brought, when it was known. */
  owner: { readonly appId: string; readonly accountId: string | null; readonly clientId: string | null } | null;
  readonly from: AuditNote["from"];
  /** The decision that is replayed; null for requests of clients. */
  readonly decision: ReplayedDecision | null;
}

/** The decision that a request replays, and what the library made of it. */
export interface ReplayedDecision {
  readonly accountId: string;
  readonly held: ReadonlySet<Scope>;
  /** What happens at the point where client, redirect, challenge and scopes are found good. */
  readonly verdict: "allow" | "deny" | "describe" | "refuse";
  /** Who asks for what, once that point was reached. */
  seen: AuthorizationRequest | null;
  /** The error's code as RFC 6749 has it; null while there is none. */
  error: string | null;
  /** What went wrong, in words, when nobody may be sent anywhere. */
  refusal: string | null;
}

const current = new AsyncLocalStorage<RequestWork>();

/** The work of the request that this is part of. */
export function currentWork(): RequestWork | undefined {
  return current.getStore();
}

/** Runs `task` as a request of its own. */
export function withWork<T>(
  { from, decision = null }: { readonly from: AuditNote["from"]; readonly decision?: ReplayedDecision | null },
  task: (work: RequestWork) => Promise<T>,
): Promise<T> {
  const work: RequestWork = { writes: [], owner: null, from, decision };
  return current.run(work, () => task(work));
}
