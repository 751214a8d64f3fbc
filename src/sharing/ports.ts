import type { Caller } from "../wire/caller.ts";
import type { AskInput, AskOutput } from "../wire/coding.ts";
import type { Turn } from "../wire/turn.ts";

/** Replaces secrets, as memory does. */
export interface Masking {
  readonly mask: string;
  maskSecrets(text: string): string;
  /** Whether a member of this name holds a secret. */
  namesSecret(name: string): boolean;
}

/** A session, and some of its turns. */
export interface ReadPart {
  readonly sessionId: string;
  readonly title: string | null;
  /** The agent's name for display. */
  readonly agent: string;
  /** The agent's name in requests. */
  readonly agentName: string;
  readonly dir: string;
  /** The worktree that Postern made for it. */
  readonly worktree?: { readonly branch: string } | null;
  readonly createdAt: string;
  readonly turnCount: number;
  readonly turns: readonly Turn[];
}

/**
 * Reads up to `limit` turns after the index `after`, oldest first.
 * @throws PosternError `session_not_found` if the caller cannot see the session
 */
export type ReadTurns = (
  sessionId: string,
  range: { readonly after: number; readonly limit: number; readonly images: boolean },
  by: { readonly caller: Caller; readonly signal: AbortSignal },
) => Promise<ReadPart>;

/** The creator of a link, and the credential that it used. */
export interface ShareCreator extends Caller {
  /** A personal token. */
  readonly tokenId: string | null;
  readonly app: { readonly appId: string } | null;
  /** Links expire at this time at the latest (epoch milliseconds). */
  readonly until: number | null;
}

/**
 * Whether the creator of a link still has the scope `coding:read`, and the credential that it used is still valid.
 * A removed account has no links.
 */
export type StillReads = (creator: {
  readonly accountId: string;
  readonly tokenId: string | null;
  readonly appId: string | null;
}) => Promise<boolean>;

/** What a fork needs from sessions. Each call throws what its route throws. */
export interface ForkPorts {
  ask(input: AskInput, caller: Caller, signal: AbortSignal): Promise<AskOutput>;
  /** Stores a file of the caller. @returns its attachment ID */
  attach(file: { readonly name: string; readonly text: string }, caller: Caller): Promise<string>;
  detach(attachmentId: string, caller: Caller): Promise<void>;
  /** The current branch of a directory's repository; null without one. */
  branchOf(dir: string, caller: Caller): Promise<string | null>;
  /** For a directory in a worktree that Postern made, even a removed one: the matching directory of its repository. */
  repositoryDirOf(dir: string): Promise<string>;
  /** The session's changes since its base, up to this length; null if there are none or the caller cannot read files there. */
  patchOf(
    sessionId: string,
    caller: Caller,
    maxCharacters: number,
  ): Promise<{ readonly text: string; readonly complete: boolean } | null>;
}
