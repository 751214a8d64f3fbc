import { expect, test } from "vitest";
import { plainName } from "./claimed-name.tsx";

test.each([
  ["Claude Code", "Claude Code"],
  ["  two\n\nlines\t ", "two lines"],
  ["evil\u202Egpj.exe\u2066", "evil gpj.exe"],
  ["\u200B\u0007", "Unnamed"],
  ["שלום", "שלום"],
])("%j is shown as %s", (name, shown) => {
  expect(plainName(name)).toBe(shown);
});
