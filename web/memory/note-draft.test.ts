import { expect, test } from "vitest";
import { keepNoteDraft, noteDraftOf } from "./note-draft.ts";

function emptyStorage(): Parameters<typeof noteDraftOf>[0] {
  const all = new Map<string, string>();
  return {
    get length() {
      return all.size;
    },
    key: (index) => [...all.keys()][index] ?? null,
    getItem: (name) => all.get(name) ?? null,
    setItem: (name, value) => void all.set(name, value),
    removeItem: (name) => void all.delete(name),
  };
}

test("a note that is being written is kept for its account alone, until it is empty", () => {
  const storage = emptyStorage();
  const nothing = { title: "", content: "" };
  expect(noteDraftOf(storage, "ana")).toEqual(nothing);
  for (const draft of [
    { title: "A title", content: "two\nlines\n" },
    { title: "", content: "\nwithout a title" },
    { title: "a title alone", content: "" },
  ]) {
    keepNoteDraft(storage, "ana", draft);
    expect(noteDraftOf(storage, "ana")).toEqual(draft);
    expect(noteDraftOf(storage, "ben")).toEqual(nothing);
  }
  keepNoteDraft(storage, "ana", nothing);
  expect(storage.length).toBe(0);
});
