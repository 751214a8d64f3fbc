import { type DraftStorage, draftOf, keepDraft } from "../session/prompt-draft.ts";

/** A note that is being written. */
export interface NoteDraft {
  readonly title: string;
  readonly content: string;
}

/** Of each account its own: several may use one browser. */
function nameOf(accountId: string): string {
  return `note.${accountId}`;
}

/** What an account wrote and neither kept nor threw away. */
export function noteDraftOf(storage: DraftStorage, accountId: string): NoteDraft {
  const kept = draftOf(storage, nameOf(accountId));
  const end = kept.indexOf("\n");
  return end === -1 ? { title: "", content: "" } : { title: kept.slice(0, end), content: kept.slice(end + 1) };
}

/** Keeps a draft until it is empty. A title is one line. */
export function keepNoteDraft(storage: DraftStorage, accountId: string, { title, content }: NoteDraft): void {
  keepDraft(storage, nameOf(accountId), title === "" && content === "" ? "" : `${title}\n${content}`);
}
