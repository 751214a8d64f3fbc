import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { suiteSeed } from "../../test/support/suite-seed.ts";
import { fromMarkdown, splitText, turnMessages } from "./markdown.ts";
import { plainLine, plainWords, shortened, styled } from "./styled.ts";

/** Styles as marks around their text, to be read. */
function marked(text: string): string {
  const { text: plain, spans } = fromMarkdown(text);
  return `${plain} ${spans.map(({ kind, at, length }) => `${kind}(${plain.slice(at, at + length)})`).join(" ")}`.trim();
}

test("turns marks into styles and removes them from the text", () => {
  expect(marked("a **b** c")).toBe("a b c bold(b)");
  expect(marked("*a* and _b_ and ~~c~~")).toBe("a and b and c italic(a) italic(b) strike(c)");
  expect(marked("run `npm *test*` now")).toBe("run npm *test* now code(npm *test*)");
  expect(marked("``a ` b``")).toBe("a ` b code(a ` b)");
  expect(marked("## Head with `code`")).toBe("Head with code bold(Head with code)");
  expect(marked("- one\n  * two")).toBe("• one\n  • two");
  expect(marked("**a *b* c**")).toBe("a b c bold(a b c) italic(b)");
  expect(marked("**a `b`**")).toBe("a b code(b)");
});

test("leaves other characters unchanged", () => {
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

test("keeps only http and https links", () => {
  expect(fromMarkdown("see [it](https://example.org/a)")).toEqual({
    text: "see it",
    spans: [{ kind: "link", at: 4, length: 2, url: "https://example.org/a" }],
  });
});

test("keeps the exact text of fences, even if they are never closed", () => {
  expect(fromMarkdown("a\n```ts\nconst **b** = `c`;\n```\nd")).toEqual({
    text: "a\nconst **b** = `c`;\nd",
    spans: [{ kind: "pre", at: 2, length: 18, language: "ts" }],
  });
  expect(marked("~~~\n```\n~~~")).toBe("``` pre(```)");
  expect(marked("```\nopen **x**")).toBe("open **x** pre(open **x**)");
});

test("shows a table in a fixed-width font", () => {
  expect(marked("| a | b |\n|---|---|\n| 1 | 2 |\nafter")).toBe(
    "| a | b |\n|---|---|\n| 1 | 2 |\nafter pre(| a | b |\n|---|---|\n| 1 | 2 |)",
  );
});

test("parses a hostile answer of the maximum styled length quickly", () => {
  const before = process.threadCpuUsage();
  for (const unit of ["*a ", "`", "[a](", "**a", "_ ", "| a |\n", "**a _b ", `${"**a _b ".repeat(140)}\n`]) {
    fromMarkdown(unit.repeat(Math.ceil(16_000 / unit.length)));
  }
  expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(2_000);
});

test("removes escape sequences, control characters and direction marks", () => {
  expect(plainWords("a\u001b[31mred\u001b[0m\u0007\u202eb\r\nc\td\u0000")).toBe("aredb\nc\td");
  expect(plainLine("a\n\n b\u001b]0;t\u0007", 100)).toBe("a b");
  expect(shortened("ab🦊cd", 4)).toBe("ab…");
  expect(plainWords("\ud800x").isWellFormed()).toBe(true);
});

const limits = { maxTextLength: 100, maxSpans: 5, betweenMessagesMs: 0, maxMessagesPerSecond: 1_000 };
const split = (text: string) => splitText(fromMarkdown(text), limits);

describe("a long text", () => {
  test("is split between paragraphs, else between lines, else at spaces, else anywhere", () => {
    expect(split(`${"a".repeat(60)}\n\n${"b".repeat(60)}`).map(({ text }) => text)).toEqual([
      "a".repeat(60),
      "b".repeat(60),
    ]);
    expect(split(`${"a".repeat(60)}\n${"b".repeat(60)}`).map(({ text }) => text)).toEqual([
      "a".repeat(60),
      "b".repeat(60),
    ]);
    expect(split(`${"a".repeat(60)} ${"b".repeat(60)}`).map(({ text }) => text)).toEqual([
      "a".repeat(60),
      "b".repeat(60),
    ]);
    expect(split("a".repeat(150)).map(({ text }) => text.length)).toEqual([100, 50]);
  });

  test("is split before a fence rather than within it, and a long fence continues in the next message", () => {
    const fence = (lines: number) => `\`\`\`ts\n${"const a = 1;\n".repeat(lines)}\`\`\``;
    const [before, whole] = split(`${"a".repeat(50)}\n${fence(5)}`);
    expect(before?.spans).toEqual([]);
    expect(whole).toMatchObject({ spans: [{ kind: "pre", at: 0, language: "ts" }] });
    const pieces = split(fence(20));
    expect(pieces.length).toBeGreaterThan(2);
    for (const { text, spans } of pieces) {
      expect(spans).toMatchObject([{ kind: "pre", at: 0, length: text.length, language: "ts" }]);
      expect(text).toMatch(/^const a = 1;(\nconst a = 1;)*$/);
    }
  });

  test("keeps the indentation of code where it is split", () => {
    const pieces = split(`\`\`\`\n${"    deep\n".repeat(30)}\`\`\``);
    for (const { text } of pieces) expect(text).toMatch(/^ {4}deep/);
  });

  test("becomes a file next to its beginning if it is very long", () => {
    const text = `# Head\n\n${"words and ".repeat(100)}`;
    const [only, ...more] = turnMessages(text, { limits, replyTo: "7", name: "turn-1.md" });
    expect(more).toEqual([]);
    expect(only).toMatchObject({ replyTo: "7", document: { name: "turn-1.md", content: text.trim() } });
    expect(only?.text.startsWith("Head\n\nwords and")).toBe(true);
    expect(only?.text.length).toBeLessThan(1_024);
    const huge = turnMessages("x".repeat(3_000_000), { limits, replyTo: null, name: "n" });
    expect(huge[0]?.document?.content.length).toBeLessThan(1_100_000);
  });
});

const part = fc.oneof(
  fc.constantFrom(
    "\n\n",
    "\n",
    " ",
    "```\n",
    "```ts\n",
    "**",
    "*",
    "_",
    "`",
    "# ",
    "[a](https://example.org/)",
    "| a |\n|---|\n",
    "🦊",
    "é",
  ),
  fc.string({ unit: "grapheme", maxLength: 30 }),
);

test("for any text, loses no character, every piece fits, and every style is within its piece and splits no character", () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
      const whole = fromMarkdown(parts.join(""));
      const pieces = splitText(whole, limits);
      const bare = (text: string) => text.replace(/\s/g, "");
      expect(bare(pieces.map(({ text }) => text).join(""))).toBe(bare(whole.text));
      for (const { text, spans } of pieces) {
        expect(text.length).toBeLessThanOrEqual(limits.maxTextLength);
        expect(text.trim()).not.toBe("");
        expect(text.isWellFormed()).toBe(whole.text.isWellFormed());
        expect(spans.length).toBeLessThanOrEqual(limits.maxSpans + 1);
        for (const { at, length } of spans) expect(at + length).toBeLessThanOrEqual(text.length);
      }
    }),
    { seed: suiteSeed, numRuns: 300 },
  );
});

test("sends no message for an empty text, and a note for an empty turn", () => {
  expect(splitText(styled(" \n\n "), limits)).toEqual([]);
  expect(turnMessages("\n", { limits, replyTo: null, name: "n" })).toMatchObject([
    { text: "✓ Done, with no message." },
  ]);
});
