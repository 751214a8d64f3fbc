const prefix = "postern.draft.";
/** Larger drafts do not survive a reload. */
const maxDraftLength = 100_000;
const maxDrafts = 30;

/** The part of `Storage` that drafts need. */
export interface DraftStorage {
  readonly length: number;
  key(index: number): string | null;
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

/** Text typed for a session and not sent. */
export function draftOf(storage: DraftStorage, sessionId: string): string {
  const kept = storage.getItem(prefix + sessionId) ?? "";
  return kept.slice(kept.indexOf("\n") + 1);
}

/** Keeps the newest {@link maxDrafts} drafts over a reload, if the storage has room. */
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
    storage.removeItem(name); // an outdated text would be worse than none
  }
}

function draftNames(storage: DraftStorage): readonly string[] {
  const names = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
  const at = (name: string): number => Number.parseInt(storage.getItem(name) ?? "", 10) || 0;
  return names.filter((name) => name.startsWith(prefix)).toSorted((a, b) => at(b) - at(a));
}

export interface NoteDraft {
  readonly title: string;
  readonly content: string;
}

/** Several accounts may use one browser. */
function nameOf(accountId: string): string {
  return `note.${accountId}`;
}

/** The account's unsaved note. */
export function noteDraftOf(storage: DraftStorage, accountId: string): NoteDraft {
  const kept = draftOf(storage, nameOf(accountId));
  const end = kept.indexOf("\n");
  return end === -1 ? { title: "", content: "" } : { title: kept.slice(0, end), content: kept.slice(end + 1) };
}

/** A title is one line. */
export function keepNoteDraft(storage: DraftStorage, accountId: string, { title, content }: NoteDraft): void {
  keepDraft(storage, nameOf(accountId), title === "" && content === "" ? "" : `${title}\n${content}`);
}

/** `crypto.randomUUID` is missing on plain http, except on localhost. */
export function idempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
