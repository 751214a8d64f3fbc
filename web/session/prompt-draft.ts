const prefix = "postern.draft.";
/** More than anybody types; a larger draft is not kept over a reload. */
const maxDraftLength = 100_000;
const maxDrafts = 30;

/** Of `Storage`, what drafts need. */
export interface DraftStorage {
  readonly length: number;
  key(index: number): string | null;
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

/** What was typed for a session and not sent; empty when there is nothing. */
export function draftOf(storage: DraftStorage, sessionId: string): string {
  const kept = storage.getItem(prefix + sessionId) ?? "";
  return kept.slice(kept.indexOf("\n") + 1);
}

/** Keeps a draft over a reload, this browser's newest {@link maxDrafts}. Where the storage is full, it is not kept. */
export function keepDraft(storage: DraftStorage, sessionId: string, text: string): void {
  const name = prefix + sessionId;
  if (text === "" || text.length > maxDraftLength) {
    storage.removeItem(name);
    return;
  }
  try {
    storage.setItem(name, `${Date.now()}\n${text}`);
    for (const old of draftNames(storage).slice(maxDrafts)) storage.removeItem(old);
  } catch {
    storage.removeItem(name); // an older text of it would be worse than none
  }
}

/** The newest first. */
function draftNames(storage: DraftStorage): readonly string[] {
  const names = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
  const at = (name: string): number => Number.parseInt(storage.getItem(name) ?? "", 10) || 0;
  return names.filter((name) => name.startsWith(prefix)).toSorted((a, b) => at(b) - at(a));
}
