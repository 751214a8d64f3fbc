import { expect, test } from "vitest";
import { plainStyle, readAnsi, withoutAnsi } from "./ansi.ts";

const shown = (output: string): readonly string[] =>
  readAnsi(output).map(({ text, style }) => {
    const set = Object.entries(style).filter(([, value]) => value !== null && value !== false);
    return `${set.map(([name, value]) => (value === true ? name : `${name} ${String(value)}`)).join(",")}|${text}`;
  });

test("colours and styles apply until they are reset", () => {
  expect(shown("a\u001b[32mok\u001b[0m b")).toEqual(["|a", "colour 2|ok", "| b"]);
  expect(shown("\u001b[1;31mbad\u001b[22m less\u001b[m")).toEqual(["colour 1,bold|bad", "colour 1| less"]);
  expect(shown("\u001b[3;4;9;2mx\u001b[23;24;29;22my")).toEqual(["dim,italic,underline,struck|x", "|y"]);
  expect(shown("\u001b[41;97mx\u001b[49;39my")).toEqual(["colour 7,background 1|x", "|y"]);
  expect(shown("\u009b91mx")).toEqual(["colour 1|x"]);
});

test("colours of larger palettes map to the nearest of the eight", () => {
  expect(shown("\u001b[38;5;196mr\u001b[38;5;46mg\u001b[38;5;21mb\u001b[38;5;244mgrey")).toEqual([
    "colour 1|r",
    "colour 2|g",
    "colour 4|b",
    "|grey",
  ]);
  expect(shown("\u001b[38;2;250;200;20my\u001b[1;38;2;10;200;200;4mc")).toEqual([
    "colour 3|y",
    "colour 6,bold,underline|c",
  ]);
  expect(shown("\u001b[48;5;2mx")).toEqual(["background 2|x"]);
});

test("other control sequences are removed, and the text is kept", () => {
  for (const sequence of [
    "\u001b[2J",
    "\u001b[12;40H",
    "\u001b[?25l",
    "\u001b[>4;1m",
    "\u001b]0;a title\u0007",
    "\u001b]8;;https://example.com\u001b\\",
    "\u001bPq#0\u001b\\",
    "\u001b(B",
    "\u001b7",
    "\u001bc",
    "\u0000",
    "\u0007",
    "\u007f",
  ]) {
    expect(readAnsi(`a${sequence}b`), JSON.stringify(sequence)).toEqual([{ text: "ab", style: plainStyle }]);
    expect(withoutAnsi(`a${sequence}b`)).toBe("ab");
  }
  expect(withoutAnsi("a\u001b]0;never ended\nb")).toBe("a0;never ended\nb");
  expect(withoutAnsi("the end\u001b[")).toBe("the end");
});

test("overwritten text is not shown", () => {
  expect(withoutAnsi("10%\r50%\r100%\r\ndone\r\n")).toBe("100%\ndone\n");
  expect(withoutAnsi("N\bNA\bA")).toBe("NA");
});

test("hostile output is parsed in linear time", () => {
  const hostile = `${"\u001b[".repeat(100_000)}${"\u001b]".repeat(100_000)}${"x\r".repeat(100_000)}`;
  const startedAt = performance.now();
  expect(readAnsi(`${"\u001b[31m\u001b[32m".repeat(50_000)}x`).length).toBeLessThan(6_000);
  readAnsi(hostile);
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});
