import type { NewSessionEvent } from "../wire/events.ts";

/** Removes a session's pending messages from chats, by all its names. @returns how many there were */
export type ForgetInChats = (names: readonly string[]) => Promise<number>;

/** Publishes the events of sessions. */
export interface EventPublisher {
  /**
   * Queues events to be stored and published, in the order of the calls. Stored with them, in one transaction: a memo of each session that
   * is needed after a restart, null to remove it. Never waits.
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
