import type { Turn } from "../../src/wire/turn.ts";
import type { DraftStorage } from "./drafts.ts";

const prefix = "postern.sent.";
const maxSent = 30;
const maxSessions = 50;
// Longer prompts are not stored here, but they are in the conversation.
const maxLength = 20_000;

/** The session's prompts that were sent from this browser, oldest first. */
function sentFrom(storage: DraftStorage, sessionId: string): readonly string[] {
  try {
    const kept: unknown = JSON.parse(storage.getItem(prefix + sessionId) ?? "[]");
    return Array.isArray(kept) ? kept.filter((text) => typeof text === "string") : [];
  } catch {
    return []; // written by something else
  }
}

export function keepSent(storage: DraftStorage, sessionId: string, text: string): void {
  if (text.length > maxLength) return;
  const kept = [...sentFrom(storage, sessionId).filter((one) => one !== text), text].slice(-maxSent);
  try {
    // In most browsers, an entry that is removed and set again comes last. In others, an arbitrary session is dropped.
    storage.removeItem(prefix + sessionId);
    const names = Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? "");
    const others = names.filter((name) => name.startsWith(prefix));
    for (const old of others.slice(0, Math.max(0, others.length - maxSessions + 1))) storage.removeItem(old);
    storage.setItem(prefix + sessionId, JSON.stringify(kept));
  } catch {
    // The storage is full: the prompt is still in the conversation.
  }
}

/** The session's prompts, newest first: those in its conversation, and those sent from this browser that are not (yet) in it. */
export function promptHistory(
  storage: DraftStorage,
  { sessionId, turns }: { readonly sessionId: string; readonly turns: readonly Turn[] },
): readonly string[] {
  const asked = turns.filter(({ role }) => role === "user").map(({ text }) => text.trim());
  const sent = sentFrom(storage, sessionId).map((text) => text.trim());
  const all = [...asked, ...sent.filter((text) => !asked.includes(text))].filter((text) => text !== "");
  return [...new Set(all.toReversed())];
}

/** The entry that is shown, and its place in the history; -1 is the empty box. */
export interface Recalled {
  readonly at: number;
  readonly text: string;
}

export const nothingRecalled: Recalled = { at: -1, text: "" };

/**
 * The entry that an arrow key shows, or null if the key moves the caret: it recalls only from the first line (downwards from the last), and
 * only if the text is unchanged.
 */
export function recall(
  history: readonly string[],
  {
    recalled,
    key,
    text,
    caret,
  }: { readonly recalled: Recalled; readonly key: string; readonly text: string; readonly caret: number },
): Recalled | null {
  const current = text === recalled.text ? recalled : text === "" ? nothingRecalled : null;
  if (current === null) return null;
  if (key === "ArrowUp" && !text.slice(0, caret).includes("\n")) {
    const older = history[current.at + 1];
    return older === undefined ? null : { at: current.at + 1, text: older };
  }
  if (key === "ArrowDown" && current.at >= 0 && !text.slice(caret).includes("\n")) {
    const newer = history[current.at - 1];
    return newer === undefined ? nothingRecalled : { at: current.at - 1, text: newer };
  }
  return null;
}
