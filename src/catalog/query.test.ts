import fc from "fast-check";
import { expect, test } from "vitest";
import { findTerms, parseQuery, snippetOf } from "./query.ts";
import { foldText, placedWords, wordsOf } from "./text-index-words.ts";

/** A query's terms as text: the words of a phrase joined by `+`, a prefix with `*`. */
function terms(query: string): readonly string[] {
  return parseQuery(query).map(({ words, prefix }) => `${words.join("+")}${prefix ? "*" : ""}`);
}

test.each([
  ["login page", ["login", "page*"]],
  ["  LOGIN   page  ", ["login", "page*"]],
  ['"login page" fix', ["login+page", "fix*"]],
  ['fix "login page"', ["fix", "login+page"]],
  ['fix "login pa', ["fix", "login+pa*"]],
  ["„login page“ «a b» “c d”", ["login+page", "a+b", "c+d"]],
  ["src/foo.ts", ["src+foo+ts*"]],
  ["getUser", ["getuser*"]],
  ["C++", ["c"]],
  ["done!", ["done"]],
  ["検索 機能", ["検+索", "機+能*"]],
  ["fix fix fix", ["fix", "fix*"]],
  ["a AND (b OR c*) NEAR/3 -d ^e title:f", ["a", "and", "b", "or", "c", "near+3", "d", "e", "title+f*"]],
  ["👩‍💻", ["👩+💻*"]],
])("the query %j has the terms %j", (query, expected) => {
  expect(terms(query)).toEqual(expected);
});

test.each(["", " ", '""', '"', "...", "-- | & ! <->", "\u0000\u001b", "¶", "\ud800", "\u200b"])(
  "finds no terms in %j",
  (query) => {
    expect(parseQuery(query)).toEqual([]);
  },
);

test("the words of a text are the same with and without their positions", () => {
  const piece = fc.oneof(
    fc.string({ unit: "binary", maxLength: 10 }),
    fc.constantFrom("e\u0301", "ｶﾞ", "ﬁ", "a\u00adb", "İ", "한", "Σς", "x".repeat(200), "½", "\u200d"),
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join("")),
      (text) => {
        const placed = placedWords(text);
        expect(placed.map(({ word }) => word)).toEqual(wordsOf(foldText(text)));
        for (const { start, end } of placed)
          expect([0 <= start, start <= end, end <= text.length]).toEqual([true, true, true]);
        for (const { word } of placed) expect(word.length).toBeLessThanOrEqual(128);
      },
    ),
    { numRuns: 1_000 },
  );
});

test("a text is found by each of its words, and by all of it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (text) => {
      for (const { start, end, word } of placedWords(text)) {
        const term = { words: [word], prefix: false };
        expect(findTerms(text, [term])).toContainEqual({ term: 0, start, end });
      }
      const itself = parseQuery(text);
      expect(new Set(findTerms(text, itself).map(({ term }) => term)).size).toBe(itself.length);
    }),
    { numRuns: 500 },
  );
});

test("every term is found in every place where its words follow each other", () => {
  const word = fc.constantFrom("a", "ab", "b");
  const term = fc.record({ words: fc.array(word, { minLength: 1, maxLength: 3 }), prefix: fc.boolean() });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), fc.array(term, { maxLength: 4 }), (text, wanted) => {
      const expected = text.flatMap((_word, at) =>
        wanted.flatMap(({ words, prefix }, number) => {
          const there = text.slice(at, at + words.length);
          const plain = there.join(" ") === words.join(" ");
          const begun = prefix && there.length === words.length && there.join(" ").startsWith(words.join(" "));
          return plain || begun ? [`${text.slice(0, at).join(" ").length + (at > 0 ? 1 : 0)} ${number}`] : [];
        }),
      );
      const found = findTerms(text.join(" "), wanted).map(({ start, term: number }) => `${start} ${number}`);
      expect(found.toSorted()).toEqual(expected.toSorted());
    }),
    { numRuns: 1_000 },
  );
});

test("searching a large text for many terms takes hardly longer than for one", () => {
  const text = Array.from({ length: 40_000 }, (_, at) => `w${(at * 7_919) % 5_000}`).join(" ");
  const many = parseQuery(Array.from({ length: 400 }, (_, at) => `x${at}`).join(" "));
  const quickest = (terms: typeof many): number => {
    const times = [1, 2, 3].map(() => {
      const startedAt = performance.now();
      findTerms(text, terms);
      return performance.now() - startedAt;
    });
    return Math.min(...times);
  };
  expect(quickest(many)).toBeLessThan(15 * quickest(many.slice(0, 1)));
});

const snippet = (text: string, query: string): string => snippetOf(text, findTerms(text, parseQuery(query)));

test("a short text is shown whole, on one line and without control characters", () => {
  expect(snippet("  one\n\ttwo\u0007 \u001b[31mthree\u202e\u0000", "two")).toBe("one two [31mthree");
  expect(snippet("", "two")).toBe("");
});

test("a long text is shown as about 160 characters around the match, cut between words", () => {
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

test("no character is split: neither an emoji, nor a letter and its accents", () => {
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
