import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type DraftStorage, draftOf, keepDraft, keepNoteDraft, noteDraftOf } from "./drafts.ts";

function storage(capacity = Number.POSITIVE_INFINITY): DraftStorage & { readonly entries: Map<string, string> } {
  const entries = new Map<string, string>();
  return {
    entries,
    get length() {
      return entries.size;
    },
    key: (index) => [...entries.keys()][index] ?? null,
    getItem: (name) => entries.get(name) ?? null,
    setItem(name, value) {
      if (value.length > capacity) throw new Error("full");
      entries.set(name, value);
    },
    removeItem: (name) => void entries.delete(name),
  };
}

beforeEach(() => vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => vi.useRealTimers());

describe("a draft", () => {
  it("is restored unchanged until it is empty", () => {
    const store = storage();
    keepDraft(store, "a", "two\nlines\n");
    expect(draftOf(store, "a")).toBe("two\nlines\n");
    expect(draftOf(store, "b")).toBe("");
    keepDraft(store, "a", "");
    expect(store.entries.size).toBe(0);
  });

  it("is one of a limited number: the oldest are dropped", () => {
    const store = storage();
    store.setItem("another", "thing");
    for (let at = 0; at < 50; at++) {
      vi.setSystemTime(1_000 + at);
      keepDraft(store, `s${at}`, `text ${at}`);
    }
    expect(store.entries.size).toBe(31);
    expect(draftOf(store, "s49")).toBe("text 49");
    expect(draftOf(store, "s0")).toBe("");
  });

  it("that cannot be stored is not stored in part", () => {
    const store = storage(20);
    keepDraft(store, "a", "short");
    keepDraft(store, "a", "longer than the storage");
    expect(draftOf(store, "a")).toBe("");
    keepDraft(storage(), "a", "x".repeat(200_000));
  });
});

it("an unfinished note is kept for its own account only, until it is empty", () => {
  const kept = storage();
  const nothing = { title: "", content: "" };
  expect(noteDraftOf(kept, "ana")).toEqual(nothing);
  for (const draft of [
    { title: "A title", content: "two\nlines\n" },
    { title: "", content: "\nwithout a title" },
    { title: "a title alone", content: "" },
  ]) {
    keepNoteDraft(kept, "ana", draft);
    expect(noteDraftOf(kept, "ana")).toEqual(draft);
    expect(noteDraftOf(kept, "ben")).toEqual(nothing);
  }
  keepNoteDraft(kept, "ana", nothing);
  expect(kept.length).toBe(0);
});
