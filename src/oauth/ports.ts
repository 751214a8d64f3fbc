import type { Kysely } from "kysely";
import type { Tables } from "../storage/schema.ts";
import type { Scope } from "../wire/access.ts";
import type { AuditAction } from "../wire/accounts.ts";

/** The scopes that an account holds now; null when it no longer exists. */
export type ScopesOfAccount = (accountId: string) => Promise<ReadonlySet<Scope> | null>;

/** An entry for the audit log: the decision or issued token, the account and the origin. */
export interface AuditNote {
  readonly action: AuditAction;
  readonly accountId: string | null;
  readonly subject: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly from: { readonly address: string | null; readonly userAgent: string | null };
}

/** Writes the entry, in the transaction `within` if there is one. Never throws, because the decision is final. */
export type NoteAudit = (entry: AuditNote, within?: Kysely<Tables>) => Promise<void>;

/** Fetches a client's metadata document from a URL that anyone can choose. */
export type FetchDocument = (
  url: string,
  request: {
    readonly method: "GET";
    readonly headers?: Readonly<Record<string, string>>;
    readonly signal?: AbortSignal;
  },
) => Promise<{ readonly status: number; readonly headers: ReadonlyMap<string, string>; readonly body: string }>;

/** Encrypts what must stay unreadable in a stolen store. */
export interface SecretBox {
  seal(secret: string, purpose: string): string;
  open(sealed: string, purpose: string): string;
  digest(secret: string, purpose: string): string;
}
