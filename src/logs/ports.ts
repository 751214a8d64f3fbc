import type { Kysely } from "kysely";
import type { Tables } from "../storage/schema.ts";
import type { SessionEvent, StreamReset } from "../wire/events.ts";
import type { Turn } from "../wire/turn.ts";
import type { Assertion } from "./assertion.ts";
import type { LogContext } from "./rules.ts";

/** Who asks: as much of a caller as the memory needs to know. */
export interface LogsCaller {
  readonly accountId: string;
  /** Folders (real paths) that the caller's token is limited to; null is no limit. */
  readonly folders: readonly string[] | null;
}

/** Those of many directories (which may be gone) whose sessions may be seen by the folder rule, by who is limited to `within`. */
export type VisibleAmong = (dirs: readonly string[], within: readonly string[] | null) => Promise<ReadonlySet<string>>;

/**
 * The real path of a directory that the folder rule lets a caller use who is limited to `within`.
 * @throws PosternError `dir_not_allowed` | `dir_not_found` | `invalid_request` (no absolute path)
 */
export type ResolveDir = (dir: string, within: readonly string[] | null) => Promise<string>;

/** What has to occur: one word, or several right after each other. */
export interface SearchTerm {
  /** Folded; at least one. */
  readonly words: readonly string[];
  /** Whether the last word may go on. */
  readonly prefix: boolean;
}

/** Where a term occurs in a text. */
export interface TermPlace {
  readonly term: number;
  readonly start: number;
  readonly end: number;
}

/** What a word is, and what a query asks for: the same as for transcripts. */
export interface SearchText {
  /** The words of a text, folded, in order. */
  words(text: string): readonly string[];
  /** What a query asks for; empty when it is nothing. */
  terms(query: string): readonly SearchTerm[];
  places(text: string, terms: readonly SearchTerm[]): readonly TermPlace[];
  /** One line around the places, without control characters. */
  snippet(text: string, places: readonly TermPlace[]): string;
}

/** Finds more than rules can, in its own time: a model. */
export interface Extractor {
  /** Tells its facts from others: `llm:<model>@<prompt hash>`. */
  readonly name: string;
  /** @param text secrets are masked in it; whatever it says is untrusted */
  extract(
    text: string,
    options: { readonly sessionId: string | null; readonly observedAt: number; readonly signal: AbortSignal },
  ): Promise<readonly Assertion[]>;
}

/** Who deletes, for the audit. */
export interface DeletionOrigin {
  /** What they showed: `token 3f0c…`, say; never a secret. */
  readonly actor: string;
  /** An IP address, or `local` for the owner's Unix socket; null for the command line. */
  readonly address: string | null;
  readonly userAgent: string | null;
}

/** Every name that a session ever had, the one that it goes by first; of one that is not known, this name alone. */
export type NamesOf = (sessionId: string) => Promise<readonly string[]>;

/** That something was deleted: when, by whom and how much, never what it said. */
export interface DeletionNote {
  readonly action: "log_deleted" | "session_logs_deleted";
  readonly accountId: string;
  /** SHA-256 of the id of the entry or session, hex: who knows the id can tell that it was deleted. */
  readonly subject: string;
  readonly details: Readonly<Record<string, string | number>>;
  readonly from: { readonly address: string | null; readonly userAgent: string | null };
}

/** Writes it down within the transaction that deletes: neither is without the other. */
export type NoteDeletion = (note: DeletionNote, within: Kysely<Tables>) => Promise<void>;

/** Some turns of a session, and what is known of it. */
export interface SessionPart {
  /** Its own, by whatever name it was asked for. */
  readonly sessionId: string;
  readonly title: string | null;
  /** Where it runs, a real path; of a gateway-made worktree its repository. */
  readonly dir: string;
  readonly context: LogContext;
  readonly turns: readonly Turn[];
  /** Of the whole session. */
  readonly turnCount: number;
  /** Of the last of `turns`. `unwritten`: the agent rests, but its transcript does not say yet that the turn has ended. */
  readonly unfinished: "running" | "unwritten" | null;
  /** Whether no process runs it. */
  readonly isOver: boolean;
}

/**
 * Reads at most `limit` turns behind `after`, in order, of a session that the caller may see.
 * @throws PosternError `session_not_found`
 */
export type ReadSession = (
  sessionId: string,
  part: { readonly after: number; readonly limit: number },
  by: { readonly caller: LogsCaller; readonly signal: AbortSignal },
) => Promise<SessionPart>;

/** What happened to sessions, behind this event on (null: from now on), until the signal is aborted. `reset`: some of it is lost. */
export type FollowSessions = (options: {
  readonly after: string | null;
  readonly signal: AbortSignal;
}) => AsyncIterable<
  | { readonly kind: "position"; readonly id: string }
  | { readonly kind: "event"; readonly event: SessionEvent }
  | { readonly kind: "reset"; readonly reset: StreamReset }
>;
