import type { Caller } from "../wire/caller.ts";
import type { PermissionMode } from "../wire/coding.ts";
import type { NewSessionEvent } from "../wire/events.ts";
import type {
  PermissionRulesPreview,
  RememberPermission,
  RuledRequest,
  RuleEffect,
  RuleVerdict,
} from "../wire/permission-rules.ts";

/** Removes a session's pending messages from chats, given all its ids. @returns how many there were */
export type ForgetInChats = (names: readonly string[]) => Promise<number>;

/** Publishes the events of sessions. */
export interface EventPublisher {
  /**
   * Queues events to be stored and published, in the order of the calls. The same transaction stores a memo of each session, which
   * is needed after a restart; null removes the memo. Never waits.
   */
  publish(publication: {
    readonly events: readonly NewSessionEvent[];
    readonly memos: ReadonlyMap<string, string | null>;
  }): void;
  /** Resolves when published events are written, or cannot be written for now. */
  flush(): Promise<void>;
  memoOf(sessionId: string): Promise<string | null>;
  memos(): Promise<ReadonlyMap<string, string>>;
}

/** Standing rules: answers that apply to more than one permission request. */
export interface StandingRules {
  /** The answer of the current rules; null if they have none. */
  verdictOn(request: RuledRequest): Promise<RuleVerdict | null>;
  /** Counts and audits an answer that the agent accepted. Never throws. */
  noteUse(verdict: RuleVerdict, request: RuledRequest): Promise<void>;
  /** The rules that an answer would add. @throws PosternError `invalid_request` */
  preview(request: RuledRequest, remembered: RememberedAnswer): Promise<PermissionRulesPreview>;
  /**
   * Adds the rules of an answer. @returns a function that removes them again, if the agent did not accept the answer @throws PosternError `invalid_request` | `rule_too_broad`
   */
  remember(request: RuledRequest, remembered: RememberedAnswer, caller: Caller): Promise<() => Promise<void>>;
}

/** An answer that also applies to later requests. */
export interface RememberedAnswer {
  readonly effect: RuleEffect;
  readonly remember: RememberPermission;
}

/** A script of a folder's owner, with the time after which it is ended. */
export interface FolderScript {
  readonly text: string;
  readonly timeoutMs: number;
}

/** How agents start in a directory. A field that the caller sets takes precedence. */
export interface StartProfile {
  readonly agent: string | null;
  readonly model: string | null;
  readonly permissionMode: PermissionMode | null;
  readonly branchPrefix: string | null;
  /** For agents and scripts. Secret. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs in a new worktree before its agent. */
  readonly setup: FolderScript | null;
  /** Runs in a worktree before it is removed. */
  readonly teardown: FolderScript | null;
}

/**
 * The profile of the folder that holds `dir`.
 * @param checkout the same directory in a worktree, whose files then determine what the repository proposes
 */
export type StartProfileOf = (dir: string, checkout?: string) => Promise<StartProfile>;
