import type { CompletionItem } from "../../src/wire/completion.ts";

/** The part of a prompt that is being completed: from its `@`, `/` or `$` to the caret. */
export interface CompletedWord {
  readonly kind: "file" | "command" | "skill";
  /** Where it begins in the text. */
  readonly from: number;
  /** What follows the first character. */
  readonly q: string;
}

// A longer word cannot be a name.
const maxLength = 200;

/** The word before the caret, if it can be completed: a command only at the beginning of the prompt. */
export function wordAt(text: string, caret: number): CompletedWord | null {
  const before = text.slice(0, caret);
  const [, command] = /^\/([^\s/]*)$/.exec(before) ?? [];
  if (command !== undefined && command.length <= maxLength) return { kind: "command", from: 0, q: command };
  const [, sign, q] = /(?:^|[\s([{"'])([@$])([^\s@$]*)$/u.exec(before.slice(-maxLength - 2)) ?? [];
  if (sign === undefined || q === undefined || q.length > maxLength) return null;
  if (sign === "$" && !/^[\p{L}_][\p{L}\p{N}_:-]*$/u.test(q)) return null;
  return { kind: sign === "@" ? "file" : "skill", from: caret - q.length - 1, q };
}

/** Items of the last response that still match, while the next one is loading. */
export function stillMatching(items: readonly CompletionItem[], q: string): readonly CompletionItem[] {
  const wanted = q.toLowerCase();
  return items.filter(({ label, detail }) => {
    const text = label.toLowerCase();
    return isSubsequence(wanted, text) || detail.toLowerCase().includes(wanted);
  });
}

function isSubsequence(wanted: string, text: string): boolean {
  let at = 0;
  for (const letter of wanted) {
    const found = text.indexOf(letter, at);
    if (found === -1) return false;
    at = found + letter.length;
  }
  return true;
}

/** The text with the item in place of the word, and the new caret. After a folder, typing continues in it. */
export function complete(
  text: string,
  { word, caret, item }: { readonly word: CompletedWord; readonly caret: number; readonly item: CompletionItem },
): { readonly text: string; readonly caret: number } {
  const after = text.slice(caret);
  const continues = item.kind === "folder" && item.insert.startsWith("@") && item.insert.endsWith("/");
  const inserted = continues || /^\s/.test(after) ? item.insert : `${item.insert} `;
  const before = text.slice(0, word.from) + inserted;
  return { text: before + after, caret: before.length };
}
