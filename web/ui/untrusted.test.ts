import { expect, test } from "vitest";
import { plainName, visibleText } from "./untrusted.tsx";

test.each([
  ["Claude Code", "Claude Code"],
  ["  two\n\nlines\t ", "two lines"],
  ["evil\u202Egpj.exe\u2066", "evil gpj.exe"],
  ["\u200B\u0007", "Unnamed"],
  ["שלום", "שלום"],
])("%j is shown as %s", (name, shown) => {
  expect(plainName(name)).toBe(shown);
});

test("controls and signs that turn the direction are shown, and do nothing", () => {
  expect(visibleText("\u001b[31mred\u0000\u007f")).toBe("␛[31mred␀␡");
  expect(visibleText("name\u202Egpj.exe\u2066")).toBe("name⟨U+202E⟩gpj.exe⟨U+2066⟩");
  expect(visibleText("a\r\nb\tc\rd")).toBe("a\nb\tc␍d");
});

test("what people write stays as it is, emoji of several parts too", () => {
  const text = "Grüße, 👩‍👩‍👧 naïve\n\tמשהו — 漢字";
  expect(visibleText(text)).toBe(text);
});
