import { setImmediate as nextTask } from "node:timers/promises";
import type { Turn } from "../wire/turn.ts";
import { cleanText, maskTurn } from "./masked-turn.ts";
import type { Masking, ReadPart } from "./ports.ts";

/** The description of the session in a document. */
export interface DocumentHead extends Pick<ReadPart, "sessionId" | "title" | "agent" | "createdAt"> {
  /** Null on shared pages. */
  readonly dir: string | null;
  /** When a shared page stops working; null in an export. */
  readonly expiresAt: string | null;
}

/** Writes a conversation piece by piece. Its input is already masked. */
export interface ConversationFormat {
  /** Whether it contains images. */
  readonly images: boolean;
  head(head: DocumentHead): string;
  /** @param place `isFirst`: whether it is the first turn, which has no separator before it */
  turn(turn: Turn, place: { readonly agent: string; readonly isFirst: boolean }): string;
  /** @param cutAt the last turn, if there are more; else null */
  end(facts: { readonly cutAt: number | null }): string;
}

export interface ExportOptions {
  readonly format: ConversationFormat;
  readonly masking: Masking;
  /** Set for a shared page; null for an export. */
  readonly shared: { readonly expiresAt: string } | null;
  /** The document is cut off between turns beyond this length. */
  readonly maxCharacters: number;
  /** Only turns after the index `after`, up to `last`. If absent, all turns. */
  readonly turns?: { readonly after: number; readonly last: number };
}

/** One turn has at most 8 million characters. */
const turnsAtOnce = 5;

/**
 * Writes a conversation as it is when the export starts, some turns at a time: memory does not grow with its length.
 * @throws what `read` throws, before the first piece if the session cannot be read
 */
export async function* exportSession(
  read: (range: { readonly after: number; readonly limit: number; readonly images: boolean }) => Promise<ReadPart>,
  { format, masking, shared, maxCharacters, turns }: ExportOptions,
): AsyncGenerator<string, void> {
  const readAfter = (after: number) => read({ after, limit: turnsAtOnce, images: format.images });
  let part = await readAfter(turns?.after ?? -1);
  const { sessionId, createdAt, turnCount } = part;
  const end = turns?.last ?? turnCount - 1;
  const agent = cleanText(part.agent, masking);
  yield format.head({
    sessionId,
    createdAt,
    agent,
    title: part.title === null ? null : cleanText(part.title, masking),
    dir: shared === null ? cleanText(part.dir, masking) : null,
    expiresAt: shared?.expiresAt ?? null,
  });
  let written = 0;
  let last = -1;
  while (part.turns.length > 0 && last < end) {
    for (const turn of part.turns) {
      if (turn.index > end) break;
      if (written > maxCharacters) {
        yield format.end({ cutAt: last });
        return;
      }
      const text = format.turn(maskTurn(turn, masking), { agent, isFirst: last === -1 });
      written += text.length;
      last = turn.index;
      yield text;
      await nextTask(); // masking takes long, so other requests get a turn
    }
    if (last < end) part = await readAfter(last);
  }
  yield format.end({ cutAt: null });
}

/** One JSON object, `{ session, turns }`. */
export const jsonFormat: ConversationFormat = {
  images: true,
  head: (session) => `{"session":${JSON.stringify({ ...session, expiresAt: undefined })},"turns":[`,
  turn: (turn, { isFirst }) => `${isFirst ? "" : ","}\n${JSON.stringify(turn)}`,
  end: ({ cutAt }) => `\n],"cutAt":${JSON.stringify(cutAt)}}\n`,
};
