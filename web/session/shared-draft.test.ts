import { expect, test } from "vitest";
import { meeting } from "./shared-draft.ts";

const draft = (text: string, version: number) => ({ text, version, updatedAt: null });

test.each([
  ["the same text needs nothing", "a", draft("a", 1), draft("a", 2), "nothing"],
  ["an unchanged text takes the other device's", "a", draft("a", 1), draft("ab", 2), "take"],
  ["an unchanged text is emptied when the other device sent it", "a", draft("a", 1), draft("", 0), "take"],
  ["a text changed only here is saved", "ab", draft("a", 1), draft("a", 1), "save"],
  ["a text changed here after the other device sent its own is saved", "ab", draft("a", 1), draft("", 0), "save"],
  ["an emptied box takes the other device's text", "", draft("a", 1), draft("ab", 2), "take"],
  ["two changed texts are a question", "ab", draft("a", 1), draft("ac", 2), "ask"],
  ["a first text here and there is a question", "here", draft("", 0), draft("there", 2), "ask"],
])("%s", (_title, local, exchanged, remote, what) => {
  expect(meeting(local, exchanged, remote)).toBe(what);
});
