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

test("control and direction characters are shown, and have no effect", () => {
  expect(visibleText("\u001b[31mred\u0000\u007f")).toBe("␛[31mred␀␡");
  expect(visibleText("name\u202Egpj.exe\u2066")).toBe("name⟨U+202E⟩gpj.exe⟨U+2066⟩");
  expect(visibleText("a\r\nb\tc\rd")).toBe("a\nb\tc␍d");
});

test("normal text is unchanged, including composed emoji", () => {
  const text = "Grüße, 👩‍👩‍👧 naïve\n\tמשהו — 漢字";
  expect(visibleText(text)).toBe(text);
});
