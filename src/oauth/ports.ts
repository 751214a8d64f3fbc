import type { Kysely } from "kysely";
import type { Tables } from "../storage/schema.ts";
import type { Scope } from "../wire/access.ts";
import type { AuditAction } from "../wire/accounts.ts";

/** What an account holds now; null when it is gone. */
export type ScopesOfAccount = (accountId: string) => Promise<ReadonlySet<Scope> | null>;

/** What was decided or given, by whom and from where. */
export interface AuditNote {
  readonly action: AuditAction;
  readonly accountId: string | null;
  readonly subject: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly from: { readonly address: string | null; readonly userAgent: string | null };
}

/** Writes it down, with what `within` writes if there is such a transaction. Never throws: the decision stands. */
export type NoteAudit = (entry: AuditNote, within?: Kysely<Tables>) => Promise<void>;

/** Fetches the metadata document of a client, from an address that a stranger chose. */
export type FetchDocument = (
  url: string,
  request: {
    readonly method: "GET";
    readonly headers?: Readonly<Record<string, string>>;
    readonly signal?: AbortSignal;
  },
) => Promise<{ readonly status: number; readonly headers: ReadonlyMap<string, string>; readonly body: string }>;

/** Seals what must not be read from a stolen store. */
export interface SecretBox {
  seal(secret: string, purpose: string): string;
  open(sealed: string, purpose: string): string;
  digest(secret: string, purpose: string): string;
}
