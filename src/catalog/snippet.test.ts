import fc from "fast-check";
import { expect, test } from "vitest";
import { findTerms, parseQuery } from "./query.ts";
import { snippetOf } from "./snippet.ts";

const snippet = (text: string, query: string): string => snippetOf(text, findTerms(text, parseQuery(query)));

test("a short text is shown whole, on one line and without control characters", () => {
  expect(snippet("  one\n\ttwo\u0007 \u001b[31mthree\u202e\u0000", "two")).toBe("one two [31mthree");
  expect(snippet("", "two")).toBe("");
});

test("of a long text about 160 characters around the match are shown, cut between words", () => {
  const text = `${"before ".repeat(100)}needle ${"after ".repeat(100)}`;
  const shown = snippet(text, "needle");
  expect(shown).toMatch(/^…before .*needle after .*after…$/);
  expect(shown.length).toBeGreaterThan(130);
  expect(shown.length).toBeLessThan(170);
});

test("the place with the most different words is shown, not the first", () => {
  const text = `cache ${"lorem ipsum ".repeat(60)}the cache had a miss ${"dolor sit ".repeat(60)}miss`;
  expect(snippet(text, "cache miss")).toContain("the cache had a miss");
});

test("no character is cut in two: neither an emoji, nor a letter and its accents", () => {
  const family = "👨‍👩‍👧‍👦";
  const text = `${family.repeat(60)}猫${"e\u0301\u0323".repeat(200)}`;
  const shown = snippet(text, "猫");
  expect(shown).toContain("猫");
  const whole = new Set([family, "猫", "e\u0301\u0323", "…"]);
  for (const { segment } of new Intl.Segmenter("en").segment(shown)) expect(whole).toContain(segment);
});

test("any text with any query gives a bounded, well-formed line", () => {
  const word = fc.oneof(
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.constantFrom("needle ", "検索", "👩‍💻", "e\u0301", " ", "\n"),
  );
  const texts = fc.array(word, { maxLength: 200 }).map((words) => words.join(""));
  fc.assert(
    fc.property(
      texts,
      fc.oneof(fc.constantFrom("needle", "検", "👩‍💻 needle"), fc.string({ unit: "binary" })),
      (text, query) => {
        const shown = snippet(text, query);
        expect(shown.length).toBeLessThan(220);
        expect(shown.isWellFormed()).toBe(true);
        expect(shown).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        const terms = parseQuery(query);
        const found = findTerms(text, terms).length > 0;
        if (found && text.length < 100) expect(findTerms(shown, terms)).not.toEqual([]);
      },
    ),
    { numRuns: 500 },
  );
});
