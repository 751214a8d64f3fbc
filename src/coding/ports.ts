import type { FolderScope, Scope } from "../wire/access.ts";
import type { AgentErrandKind } from "../wire/agent-setup.ts";
import type { NewSessionEvent } from "../wire/events.ts";

/** Who calls a coding tool: as much of the caller as coding needs to know. */
export interface Caller {
  readonly accountId: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Folders (real paths) that the caller's token is limited to; null is no limit. */
  readonly folders: readonly string[] | null;
  /** Notes each folder that the folder rule allows the caller: what the caller holds open ends when one of them is taken away. */
  readonly allowed?: { note(folder: { readonly dir: string; readonly scope: FolderScope }): void };
}

/** Who asks for an agent's log-in or installation, and from where. */
export interface ErrandOrigin {
  readonly accountId: string;
  /** As the audit has it: null twice is the command line. */
  readonly from: { readonly address: string | null; readonly userAgent: string | null };
}

/** One line of the audit: somebody began or cancelled one, or it ended by itself. */
export interface ErrandNote extends ErrandOrigin {
  readonly action: `agent_${AgentErrandKind}_${"started" | "cancelled" | "ended"}`;
  /** The agent's name. */
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Writes it down. Never throws. */
export type NoteErrand = (note: ErrandNote) => Promise<void>;

/** Removes what waits of a session, by all its names, in chats. @returns how much that was */
export type ForgetInChats = (names: readonly string[]) => Promise<number>;

/** A directory that the folder rule lets through. */
export interface AllowedDir {
  /** Its real path. */
  readonly dir: string;
  /** Whether the owner trusts what lies in it: registered with `coding`, or named in permissive mode. */
  readonly trusted: boolean;
}

/**
 * Resolves a directory by the seed's folder scope rule.
 * @throws PosternError `dir_not_allowed` | `dir_not_found` | `invalid_request`
 */
export type ResolveAllowedDir = (
  dir: string,
  rule: { readonly scope: FolderScope; readonly within: readonly string[] | null },
) => Promise<AllowedDir>;

/** Those of many directories (which may be gone) whose sessions may be seen by the folder rule. */
export type VisibleAmong = (
  dirs: readonly string[],
  rule: { readonly scope: FolderScope; readonly within: readonly string[] | null },
) => Promise<ReadonlySet<string>>;

/** Whether sessions of this directory (which may be gone) may be seen by the folder rule. */
export type IsVisibleDir = (
  dir: string,
  rule: { readonly scope: FolderScope; readonly within: readonly string[] | null },
) => Promise<boolean>;

/** The one way out for events of sessions. */
export interface EventPublisher {
  /**
   * Takes events to be written and told soon, in the order of the calls, and with them, all or nothing, what coding wants to know again
   * after a restart: a memo of each session, null to forget it. Never waits.
   */
  publish(publication: {
    readonly events: readonly NewSessionEvent[];
    readonly memos: ReadonlyMap<string, string | null>;
  }): void;
  /** Resolves when what was published is written, or cannot be for now. */
  flush(): Promise<void>;
  memoOf(sessionId: string): Promise<string | null>;
  memos(): Promise<ReadonlyMap<string, string>>;
}
