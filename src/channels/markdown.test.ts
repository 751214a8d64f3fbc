import { expect, test } from "vitest";
import { fromMarkdown } from "./markdown.ts";
import { plainLine, plainWords, shortened } from "./styled.ts";

/** Styles as marks around their text, to be read. */
function marked(text: string): string {
  const { text: plain, spans } = fromMarkdown(text);
  return `${plain} ${spans.map(({ kind, at, length }) => `${kind}(${plain.slice(at, at + length)})`).join(" ")}`.trim();
}

test("marks become styles, and are gone from the text", () => {
  expect(marked("a **b** c")).toBe("a b c bold(b)");
  expect(marked("*a* and _b_ and ~~c~~")).toBe("a and b and c italic(a) italic(b) strike(c)");
  expect(marked("run `npm *test*` now")).toBe("run npm *test* now code(npm *test*)");
  expect(marked("``a ` b``")).toBe("a ` b code(a ` b)");
  expect(marked("## Head with `code`")).toBe("Head with code bold(Head with code)");
  expect(marked("- one\n  * two")).toBe("• one\n  • two");
  expect(marked("**a *b* c**")).toBe("a b c bold(a b c) italic(b)");
  expect(marked("**a `b`**")).toBe("a b code(b)");
});

test("what is no mark stays as it is", () => {
  for (const text of [
    "2 * 3 * 4",
    "snake_case_name",
    "a ** b",
    "**",
    "`open",
    "__init__.py",
    "[x](javascript:alert(1))",
    "<b>&amp;",
    "a_b *c",
  ]) {
    expect(fromMarkdown(text)).toEqual({ text, spans: [] });
  }
});

test("links lead to the web, and nowhere else", () => {
  expect(fromMarkdown("see [it](https://example.org/a)")).toEqual({
    text: "see it",
    spans: [{ kind: "link", at: 4, length: 2, url: "https://example.org/a" }],
  });
});

test("fences keep their text to the letter, also when they are never closed", () => {
  expect(fromMarkdown("a\n```ts\nconst **b** = `c`;\n```\nd")).toEqual({
    text: "a\nconst **b** = `c`;\nd",
    spans: [{ kind: "pre", at: 2, length: 18, language: "ts" }],
  });
  expect(marked("~~~\n```\n~~~")).toBe("``` pre(```)");
  expect(marked("```\nopen **x**")).toBe("open **x** pre(open **x**)");
});

test("a table stands in a fixed font", () => {
  expect(marked("| a | b |\n|---|---|\n| 1 | 2 |\nafter")).toBe(
    "| a | b |\n|---|---|\n| 1 | 2 |\nafter pre(| a | b |\n|---|---|\n| 1 | 2 |)",
  );
});

test("a hostile answer, as long as one is styled, takes no time", () => {
  const before = process.threadCpuUsage();
  for (const unit of ["*a ", "`", "[a](", "**a", "_ ", "| a |\n", "**a _b ", `${"**a _b ".repeat(140)}\n`]) {
    fromMarkdown(unit.repeat(Math.ceil(16_000 / unit.length)));
  }
  expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(2_000);
});

test("no escape sequence, control character or reversing mark is left in what is shown", () => {
  expect(plainWords("a\u001b[31mred\u001b[0m\u0007\u202eb\r\nc\td\u0000")).toBe("aredb\nc\td");
  expect(plainLine("a\n\n b\u001b]0;t\u0007", 100)).toBe("a b");
  expect(shortened("ab🦊cd", 4)).toBe("ab…");
  expect(plainWords("\ud800x").isWellFormed()).toBe(true);
});
