import type { ChatUpdate } from "../chats/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Incoming } from "./channel.ts";

/** The messages of an album as one, and the other updates that it consists of. */
export interface WholeAlbum {
  readonly incoming: Incoming;
  readonly otherIds: readonly number[];
}

/** A chat program sends an album as a message for each of its files. They become one message. */
interface Albums {
  /** Notes a message that may be part of an album, before it is processed. */
  note(update: ChatUpdate, incoming: Incoming): void;
  /**
   * Waits until the album's messages stop arriving.
   * @returns null for a message whose album is processed with its first one
   */
  whole(update: ChatUpdate, incoming: Incoming, signal: AbortSignal): Promise<WholeAlbum | null>;
}

interface Part {
  readonly updateId: number;
  readonly incoming: Incoming;
}

/** Telegram's messages of an album usually come in one response, or follow within a second. A later one counts as a separate message. */
const quietMs = 1_500;
/** The longest wait, however many messages follow. */
const longestMs = 10_000;
/** Telegram's limit, which also bounds the memory of an album. */
const maxParts = 10;

export function createAlbums({ clock }: { readonly clock: Clock }): Albums {
  /** The albums that still grow. */
  const growing = new Map<string, Part[]>();
  /** The album of each waiting update that is part of one, by update id. */
  const albumOf = new Map<number, Part[]>();

  return {
    note({ updateId }, incoming) {
      if (incoming.albumId === undefined) return;
      const key = keyOf(incoming);
      const known = growing.get(key);
      const parts = known === undefined || known.length >= maxParts ? [] : known;
      parts.push({ updateId, incoming });
      growing.set(key, parts);
      albumOf.set(updateId, parts);
    },

    async whole({ updateId }, incoming, signal) {
      const parts = albumOf.get(updateId);
      albumOf.delete(updateId);
      if (parts === undefined) return { incoming, otherIds: [] };
      if (parts[0]?.updateId !== updateId) return null;
      const until = clock.now() + longestMs;
      let count = 0;
      while (count < parts.length && parts.length < maxParts && clock.now() < until && !signal.aborted) {
        count = parts.length;
        await clock.sleep(quietMs, signal).catch(() => undefined); // aborted: the loop ends
      }
      const key = keyOf(incoming);
      if (growing.get(key) === parts) growing.delete(key);
      return { incoming: merged(incoming, parts), otherIds: parts.slice(1).map((part) => part.updateId) };
    },
  };
}

function keyOf({ chatId, userId, albumId }: Incoming): string {
  return JSON.stringify([chatId, userId, albumId]);
}

/** Its text is that of the first message with text. */
function merged(first: Incoming, parts: readonly Part[]): Incoming {
  const contents = parts.flatMap(({ incoming: { content } }) =>
    content.kind === "command" || content.kind === "text" ? [content] : [],
  );
  const said = contents.find((content) => content.kind === "command" || content.text.trim() !== "") ?? contents[0];
  if (said === undefined) return first;
  return { ...first, content: { ...said, files: contents.flatMap(({ files }) => files) } };
}
