import type { NewSessionEvent } from "../wire/events.ts";

/** Removes what waits of a session, by all its names, in chats. @returns how much that was */
export type ForgetInChats = (names: readonly string[]) => Promise<number>;

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
