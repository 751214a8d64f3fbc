import headlessModule from "@xterm/headless";
import fc from "fast-check";
import { expect, test } from "vitest";
import { unpooled } from "../core/unpooled.ts";
import { cutEnd, cutStart, padTo, plainLine, plainText, printableJson, table, widthOf } from "./plain-text.ts";

test("escape sequences are removed whole, newlines and tabs are kept", () => {
  expect(plainText("\u001b[31mred\u001b[0m\n\ttab\u001b]0;title\u0007end")).toBe("red\n\ttabend");
});

test("a lone escape, carriage returns, C1 controls and byte order marks are removed", () => {
  expect(plainText("a\u001bb\rc\u009b31md\u202ee\u2066f\u007f")).not.toMatch(/[\u001b\r\u009b\u202e\u2066\u007f]/);
});

test("no text leaves a control byte for the terminal", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(plainText(text)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
  );
});

test("a value on one line contains no line break", () => {
  expect(plainLine(" a\n\tb\r\nc ")).toBe("a b c");
});

test("JSON keeps every character and escapes those that a terminal acts on", () => {
  const value = { text: "\u001b[31m\u009b\u007f\u202e ä 🙂" };
  const text = printableJson(value);
  expect(text).not.toMatch(/[\u001b\u007f-\u009f\u202e]/);
  expect(JSON.parse(text)).toEqual(value);
});

test("columns are as wide as their widest cell, and a cell cannot add a row", () => {
  expect(table(["A", "B"], [["long", "x\ny"]])).toBe("A     B\nlong  x y");
});

const { default: graphemesModule } = await unpooled(() => import("@xterm/addon-unicode-graphemes"));
const { UnicodeGraphemesAddon } = graphemesModule;
const { Terminal } = headlessModule;

/** Lines with their width in a terminal's columns. */
const wide: readonly (readonly [string, number])[] = [
  ["Login", 5],
  ["ログイン", 8],
  ["로그인", 6],
  ["ｱ", 1],
  ["cafe\u0301", 4],
  ["👍🏽", 2],
  ["👨‍👩‍👧", 2],
  ["🇩🇪", 2],
  ["✅ done", 7],
  ["❤️", 2],
];

test.each(wide)("%s takes %i columns", (line, columns) => {
  expect(widthOf(line)).toBe(columns);
  expect(widthOf(padTo(line, 12))).toBe(12);
  expect(padTo(line, 1)).toBe(line);
});

test("truncated text fits, is marked, and has whole characters", () => {
  expect(cutEnd("ログイン画面", 7)).toBe("ログイ…");
  expect(cutEnd("ログイン画面", 8)).toBe("ログイ…");
  expect(cutStart("/code/画面", 8)).toBe("…de/画面");
  expect(cutEnd("a👨‍👩‍👧b", 3)).toBe("a…");
  expect(cutEnd("cafe\u0301s", 5)).toBe("cafe\u0301s");
  expect(cutEnd("cafe\u0301s!", 5)).toBe("cafe\u0301…");
});

test("a cut line never exceeds its columns", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 20 }), (line, columns) => {
      for (const cut of [cutEnd(line, columns), cutStart(line, columns)]) {
        expect(widthOf(cut)).toBeLessThanOrEqual(columns);
        expect(cut.isWellFormed()).toBe(line.isWellFormed());
      }
    }),
  );
});

test("in a terminal the cells of a table are aligned, whatever precedes them", async () => {
  const text = table(
    ["TITLE", "ID"],
    wide.map(([line], index) => [line, `#${index}`]),
  );
  const terminal = new Terminal({ cols: 40, rows: 20, allowProposedApi: true, convertEol: true });
  terminal.loadAddon(new UnicodeGraphemesAddon());
  terminal.unicode.activeVersion = "15-graphemes";
  await new Promise<void>((written) => terminal.write(text, written));
  const columnOfMark = (row: number): number =>
    Array.from({ length: terminal.cols }, (_, column) =>
      terminal.buffer.active.getLine(row)?.getCell(column)?.getChars(),
    ).indexOf("#");
  expect(wide.map((_, index) => columnOfMark(index + 1))).toEqual(wide.map(() => 10));
});
