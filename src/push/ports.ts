import type { Caller } from "../wire/caller.ts";
import type { AnswerPermissionInput, SessionSummary } from "../wire/coding.ts";
import type { SessionEvent } from "../wire/events.ts";

/** The credential that subscribed a browser. Its notifications end with it. */
export interface Subscriber {
  readonly accountId: string;
  /** `open`: any caller, with `POSTERN_AUTH=none`. */
  readonly kind: "browser" | "token" | "open";
  readonly browserSessionId: string | null;
  readonly tokenId: string | null;
}

/**
 * What a subscriber can do now; null when it is signed out, expired or revoked.
 * @param options `acting`: counts as a use of the credential, which keeps a browser signed in
 */
export type CallerOf = (subscriber: Subscriber, options: { readonly acting: boolean }) => Promise<Caller | null>;

/** A session as the caller can see it now; null when it cannot, or when the session is gone. */
export type ReadSession = (sessionId: string, caller: Caller, signal: AbortSignal) => Promise<SeenSession | null>;

/** The parts of a session that notifications show. */
export type SeenSession = Pick<
  SessionSummary,
  "sessionId" | "agent" | "title" | "status" | "activity" | "queuedPrompts" | "permissions" | "turnFailure"
>;

/** Answers a permission request. @throws PosternError as `coding_answer_permission` does */
export type AnswerPermission = (
  input: Pick<AnswerPermissionInput, "sessionId" | "permissionId" | "decision">,
  caller: Caller,
) => Promise<unknown>;

/** The events of all sessions in registered folders, starting after the event `after`; null for new events only. */
export type FollowEvents = (options: {
  readonly after: string | null;
  readonly signal: AbortSignal;
}) => AsyncIterable<
  | { readonly kind: "event"; readonly event: SessionEvent }
  | { readonly kind: "position"; readonly id: string }
  | { readonly kind: "reset"; readonly reset: { readonly id: string } }
>;
