import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { suiteSeed } from "../../test/support/suite-seed.ts";
import { fromMarkdown } from "./markdown.ts";
import { splitText, turnMessages } from "./split.ts";
import { styled } from "./styled.ts";

const limits = { maxTextLength: 100, maxSpans: 5, betweenMessagesMs: 0, maxMessagesPerSecond: 1_000 };
const split = (text: string) => splitText(fromMarkdown(text), limits);

describe("a long text", () => {
  test("is cut between paragraphs, then between lines, then at spaces, and else anywhere", () => {
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

  test("is cut before a fence rather than within it, and a long fence goes on in the next message", () => {
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

  test("keeps the indentation of code where it is cut", () => {
    const pieces = split(`\`\`\`\n${"    deep\n".repeat(30)}\`\`\``);
    for (const { text } of pieces) expect(text).toMatch(/^ {4}deep/);
  });

  test("becomes a file with its beginning beside it when it is very long", () => {
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

test("whatever is written: no character is lost, every piece fits, every style lies within its piece and cuts no character", () => {
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

test("an empty text is no message, and an empty turn says so", () => {
  expect(splitText(styled(" \n\n "), limits)).toEqual([]);
  expect(turnMessages("\n", { limits, replyTo: null, name: "n" })).toMatchObject([{ text: "✓ Done, without words." }]);
});
