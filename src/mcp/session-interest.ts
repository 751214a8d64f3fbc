import type { SessionUpdate } from "./session-updates.ts";

/** The sessions that one client wants to hear of, under the addresses that it asked for them by. */
export class SessionInterest {
  readonly #wanted = new Map<string, Set<string>>();

  get size(): number {
    return this.#wanted.size;
  }

  has(uri: string): boolean {
    return this.#wanted.has(uri);
  }

  /** @param sessionIds every id of the session, its aliases too */
  add(uri: string, sessionIds: readonly string[]): void {
    this.#wanted.set(uri, new Set(sessionIds));
  }

  remove(uri: string): void {
    this.#wanted.delete(uri);
  }

  clear(): void {
    this.#wanted.clear();
  }

  /** @returns the addresses to tell of it. Of a session that goes on under another id it is told too, under the same address. */
  urisOf({ sessionId, replaces, isChange }: SessionUpdate): readonly string[] {
    const told: string[] = [];
    for (const [uri, ids] of this.#wanted) {
      if (replaces !== null && ids.has(replaces)) ids.add(sessionId);
      if (isChange && ids.has(sessionId)) told.push(uri);
    }
    return told;
  }
}
