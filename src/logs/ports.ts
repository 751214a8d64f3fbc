import type { Kysely } from "kysely";
import type { Tables } from "../storage/schema.ts";
import type { SessionEvent, StreamReset } from "../wire/events.ts";
import type { Turn } from "../wire/turn.ts";
import type { Assertion } from "./assertion.ts";
import type { LogContext } from "./rules.ts";

/** The parts of a caller that the memory needs. */
export interface LogsCaller {
  readonly accountId: string;
  /** Real paths of the folders the token is limited to; null for no limit. */
  readonly folders: readonly string[] | null;
}

/** Which directories (existing or not) the folder rule makes visible to a caller limited to `within`. */
export type VisibleAmong = (dirs: readonly string[], within: readonly string[] | null) => Promise<ReadonlySet<string>>;

/**
 * The real path of a directory, if the folder rule allows it to a caller limited to `within`.
 * @throws PosternError `dir_not_allowed` | `dir_not_found` | `invalid_request` (not an absolute path)
 */
export type ResolveDir = (dir: string, within: readonly string[] | null) => Promise<string>;

/** A word, or several consecutive ones, to find. */
export interface SearchTerm {
  /** Folded; at least one. */
  readonly words: readonly string[];
  /** Whether the last word is a prefix. */
  readonly prefix: boolean;
}

/** Where a term occurs in a text. */
export interface TermPlace {
  readonly term: number;
  readonly start: number;
  readonly end: number;
}

/** Words and queries, as in the search of transcripts. */
export interface SearchText {
  /** The words of a text, folded, in order. */
  words(text: string): readonly string[];
  /** The terms of a query. */
  terms(query: string): readonly SearchTerm[];
  places(text: string, terms: readonly SearchTerm[]): readonly TermPlace[];
  /** One line around the places, without control characters. */
  snippet(text: string, places: readonly TermPlace[]): string;
}

/** Finds more than the rules can, more slowly: a model. */
export interface Extractor {
  /** Identifies its facts: `llm:<model>@<prompt hash>`. */
  readonly name: string;
  /** @param text untrusted, with secrets masked */
  extract(
    text: string,
    options: { readonly sessionId: string | null; readonly observedAt: number; readonly signal: AbortSignal },
  ): Promise<readonly Assertion[]>;
}

/** The caller that deletes, for the audit log. */
export interface DeletionOrigin {
  /** The credential, such as `token 3f0c…`; never a secret. */
  readonly actor: string;
  /** An IP address, or `local` for the owner's Unix socket; null for the command line. */
  readonly address: string | null;
  readonly userAgent: string | null;
}

/** Every name a session ever had, the current one first; for an unknown session the given name. */
export type NamesOf = (sessionId: string) => Promise<readonly string[]>;

/** A deletion for the audit log, without the deleted content. */
export interface DeletionNote {
  readonly action: "log_deleted" | "session_logs_deleted";
  readonly accountId: string;
  /** SHA-256 of the id of the entry or session, hex. */
  readonly subject: string;
  readonly details: Readonly<Record<string, string | number>>;
  readonly from: { readonly address: string | null; readonly userAgent: string | null };
}

/** Writes the audit entry in the transaction of the deletion. */
export type NoteDeletion = (note: DeletionNote, within: Kysely<Tables>) => Promise<void>;

/** Some turns of a session, with its context. */
export interface SessionPart {
  /** Its current id. */
  readonly sessionId: string;
  readonly title: string | null;
  /** Real path of its directory, or the repository of its worktree. */
  readonly dir: string;
  readonly context: LogContext;
  readonly turns: readonly Turn[];
  /** Number of turns of the whole session. */
  readonly turnCount: number;
  /** State of the last turn. `unwritten`: the agent is idle, but its transcript does not show the end of the turn yet. */
  readonly unfinished: "running" | "unwritten" | null;
  /** Whether no process runs it. */
  readonly isOver: boolean;
}

/**
 * Reads up to `limit` turns after `after`, in order, of a session visible to the caller.
 * @throws PosternError `session_not_found`
 */
export type ReadSession = (
  sessionId: string,
  part: { readonly after: number; readonly limit: number },
  by: { readonly caller: LogsCaller; readonly signal: AbortSignal },
) => Promise<SessionPart>;

/** Session events after `after` (null: new ones only), until aborted. `reset`: some events were lost. */
export type FollowSessions = (options: {
  readonly after: string | null;
  readonly signal: AbortSignal;
}) => AsyncIterable<
  | { readonly kind: "position"; readonly id: string }
  | { readonly kind: "event"; readonly event: SessionEvent }
  | { readonly kind: "reset"; readonly reset: StreamReset }
>;
