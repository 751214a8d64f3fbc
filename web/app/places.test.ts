import { expect, test } from "vitest";
import { matchesWords } from "./places.ts";

test.each([
  ["Fix the log-in on Safari", "safari fix", true],
  ["Fix the log-in on Safari", "saf log", true],
  ["Fix the log-in on Safari", "firefox", false],
  ["Überprüfung der Größe", "uberpruf", true],
  ["日本語のタイトル", "タイトル", true],
  ["anything", "", true],
  ["anything", "   ", true],
])("%s is found by “%s”: %s", (text, wanted, found) => {
  expect(matchesWords(text, wanted)).toBe(found);
});
