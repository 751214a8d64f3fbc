import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createPeek, looksLikeObject } from "./json-peek.ts";

/** JSON text with random space between the tokens. */
function spaced(value: unknown, gaps: readonly string[]): string {
  let at = 0;
  const tokens = JSON.stringify(value).match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/g) ?? [];
  return tokens.map((token) => `${gaps[at++ % gaps.length]}${token}`).join("");
}

describe("peeking into a line of JSON", () => {
  test("shows the members of any object, in their order, with the place of each value", () => {
    const gaps = fc.array(fc.constantFrom("", "", " ", "\t", "\r"), { minLength: 1 });
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ maxLength: 20, unit: "grapheme" }), fc.jsonValue()),
        gaps,
        (object, space) => {
          const line = Buffer.from(spaced(object, space));
          const plain = Object.keys(object).filter((key) => /^[ !#-[\]-~]*$/.test(key));
          const seen: string[] = [];
          const whole = createPeek([...plain, "other"]).members(line, 0, (key, at) => {
            const [expected, value] = Object.entries(object)[seen.length] ?? [];
            expect(key).toBe(expected !== undefined && plain.includes(expected) ? expected : "");
            expect(createPeek(["x"]).string(line, at) !== null).toBe(typeof value === "string");
            seen.push(key);
            return "go_on";
          });
          expect(whole).toBe(true);
          expect(seen).toHaveLength(Object.keys(object).length);
          expect(looksLikeObject(line)).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("finds a field behind long strings with escapes", () => {
    for (const text of [
      "\\",
      '"',
      '\\"',
      "x".repeat(47),
      `${"x".repeat(46)}\\`,
      `${"x".repeat(47)}\\"`,
      '"type":"no"',
      "é😀".repeat(100),
    ]) {
      const line = Buffer.from(
        JSON.stringify({ before: text, nested: { type: "no", list: [text, { type: "no" }] }, type: "yes" }),
      );
      expect(createPeek(["type", "yes", "no"]).field(line, 0, "type")).toBe("yes");
    }
  });

  test("never throws or runs on for bytes that are not JSON", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom("", "{", '{"a":', '{"a":"', '{"type":[{'),
        (bytes, start) => {
          const line = Buffer.concat([Buffer.from(start), bytes]);
          let seen = 0;
          createPeek(["a", "type"]).members(line, 0, () => (++seen > 300 ? "stop" : "go_on"));
          expect(seen).toBeLessThan(300);
        },
      ),
      { numRuns: 5_000 },
    );
  });
});
