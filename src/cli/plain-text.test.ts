import fc from "fast-check";
import { expect, test } from "vitest";
import { plainLine, plainText, printableJson, table } from "./plain-text.ts";

test("escape sequences go with all their bytes, newlines and tabs stay", () => {
  expect(plainText("\u001b[31mred\u001b[0m\n\ttab\u001b]0;title\u0007end")).toBe("red\n\ttabend");
});

test("a lone escape, a carriage return, C1 controls and order marks are gone", () => {
  expect(plainText("a\u001bb\rc\u009b31md\u202ee\u2066f\u007f")).not.toMatch(/[\u001b\r\u009b\u202e\u2066\u007f]/);
});

test("whatever the text, no byte that a terminal acts on is left", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(plainText(text)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
  );
});

test("a line is one line", () => {
  expect(plainLine(" a\n\tb\r\nc ")).toBe("a b c");
});

test("JSON keeps every character and shows none that a terminal acts on", () => {
  const value = { text: "\u001b[31m\u009b\u007f\u202e ä 🙂" };
  const text = printableJson(value);
  expect(text).not.toMatch(/[\u001b\u007f-\u009f\u202e]/);
  expect(JSON.parse(text)).toEqual(value);
});

test("columns are as wide as their widest cell, and a cell cannot add a row", () => {
  expect(table(["A", "B"], [["long", "x\ny"]])).toBe("A     B\nlong  x y");
});
