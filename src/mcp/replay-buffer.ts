import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";
import type { McpLimits } from "./ports.ts";

interface KeptMessage {
  readonly owner: string;
  readonly streamId: string;
  readonly message: JSONRPCMessage;
  readonly sizeBytes: number;
}

interface Kept {
  count: number;
  sizeBytes: number;
}

/**
 * Messages of all sessions that clients can request again with `Last-Event-ID`. Kept in memory with limits: the oldest of a session are
 * dropped first, and beyond the total limit those of the largest session. Requesting a dropped message is an error.
 */
export class ReplayBuffer {
  readonly #limits: Pick<McpLimits, "maxKeptMessages" | "maxKeptBytes" | "maxKeptBytesOfAll">;
  readonly #messages = new Map<string, KeptMessage>();
  readonly #owners = new Map<string, Kept>();
  #sizeBytes = 0;
  #next = 0;

  constructor(limits: Pick<McpLimits, "maxKeptMessages" | "maxKeptBytes" | "maxKeptBytesOfAll">) {
    this.#limits = limits;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** The store of one session. */
  storeOf(owner: string): EventStore {
    return {
      storeEvent: async (streamId, message) => this.#add({ owner, streamId, message }),
      getStreamIdForEventId: async (eventId) => this.#find(owner, eventId)?.streamId,
      replayEventsAfter: async (lastEventId, { send }) => {
        const last = this.#find(owner, lastEventId);
        if (last === undefined) throw new Error("The message is no longer available.");
        let passed = false;
        for (const [eventId, kept] of this.#messages) {
          const mine = kept.owner === owner && kept.streamId === last.streamId;
          // Messages without method and result only mark a position.
          if (passed && mine && Object.keys(kept.message).length > 0) await send(eventId, kept.message);
          if (eventId === lastEventId) passed = true;
        }
        return last.streamId;
      },
    };
  }

  forget(owner: string): void {
    for (const [eventId, kept] of this.#messages) {
      if (kept.owner === owner) this.#drop(eventId, kept);
    }
    this.#owners.delete(owner);
  }

  #find(owner: string, eventId: string): KeptMessage | undefined {
    const kept = this.#messages.get(eventId);
    return kept?.owner === owner ? kept : undefined;
  }

  #add(message: Omit<KeptMessage, "sizeBytes">): string {
    const kept = { ...message, sizeBytes: Buffer.byteLength(JSON.stringify(message.message)) + 200 };
    this.#next += 1;
    const eventId = this.#next.toString(36);
    this.#messages.set(eventId, kept);
    this.#sizeBytes += kept.sizeBytes;
    const mine = this.#owners.get(kept.owner) ?? { count: 0, sizeBytes: 0 };
    this.#owners.set(kept.owner, mine);
    mine.count += 1;
    mine.sizeBytes += kept.sizeBytes;
    this.#makeRoom(kept.owner, mine);
    return eventId;
  }

  #makeRoom(owner: string, mine: Kept): void {
    const { maxKeptMessages, maxKeptBytes, maxKeptBytesOfAll } = this.#limits;
    this.#dropOldest(owner, () => mine.count > maxKeptMessages || mine.sizeBytes > maxKeptBytes);
    while (this.#sizeBytes > maxKeptBytesOfAll) {
      const largest = this.#largestOwner();
      const before = this.#sizeBytes;
      // Drops as many as needed at once, because finding the largest owner is expensive.
      if (largest !== null) this.#dropOldest(largest, () => this.#sizeBytes > maxKeptBytesOfAll);
      if (this.#sizeBytes === before) return; // a message larger than the limit stays until the next one
    }
  }

  #largestOwner(): string | null {
    const [largest] = [...this.#owners].toSorted(([, a], [, b]) => b.sizeBytes - a.sizeBytes);
    return largest?.[0] ?? null;
  }

  /** Keeps the newest message, which was just added. */
  #dropOldest(owner: string, isTooMuch: () => boolean): void {
    const newest = this.#next.toString(36);
    for (const [eventId, kept] of this.#messages) {
      if (eventId === newest || !isTooMuch()) return;
      if (kept.owner === owner) this.#drop(eventId, kept);
    }
  }

  #drop(eventId: string, { owner, sizeBytes }: KeptMessage): void {
    this.#messages.delete(eventId);
    this.#sizeBytes -= sizeBytes;
    const its = this.#owners.get(owner);
    if (its === undefined) return;
    its.count -= 1;
    its.sizeBytes -= sizeBytes;
  }
}
