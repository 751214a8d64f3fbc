import { describe, expect, it } from "vitest";
import { type DraftStorage, draftOf, keepDraft } from "./prompt-draft.ts";

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

describe("a draft", () => {
  it("is there again, word for word, until it is empty", () => {
    const store = storage();
    keepDraft(store, "a", { text: "two\nlines\n", at: 1 });
    expect(draftOf(store, "a")).toBe("two\nlines\n");
    expect(draftOf(store, "b")).toBe("");
    keepDraft(store, "a", { text: "", at: 2 });
    expect(store.entries.size).toBe(0);
  });

  it("is one of a few: the oldest go", () => {
    const store = storage();
    store.setItem("another", "thing");
    for (let at = 0; at < 50; at++) keepDraft(store, `s${at}`, { text: `text ${at}`, at });
    expect(store.entries.size).toBe(31);
    expect(draftOf(store, "s49")).toBe("text 49");
    expect(draftOf(store, "s0")).toBe("");
  });

  it("that cannot be kept is not kept in part", () => {
    const store = storage(20);
    keepDraft(store, "a", { text: "short", at: 1 });
    keepDraft(store, "a", { text: "longer than the storage", at: 2 });
    expect(draftOf(store, "a")).toBe("");
    keepDraft(storage(), "a", { text: "x".repeat(200_000), at: 1 });
  });
});
