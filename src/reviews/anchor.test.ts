import fc from "fast-check";
import { expect, test } from "vitest";
import { type Anchor, anchorOf, findAnchor, type LineRange, linesOf } from "./anchor.ts";

/** A line with an identity that it keeps when it moves. */
interface Line {
  readonly id: number;
  readonly text: string;
}

// Each occurs many times in a file, as in code.
const common = ["", "}", "});", "    return null;", "  if (error) throw error;"];

const fileArbitrary = fc
  .array(
    fc.oneof(
      fc.constantFrom(...common),
      fc.nat(30).map((at) => `const value${at} = read(${at});`),
    ),
    {
      minLength: 1,
      maxLength: 60,
    },
  )
  .map((texts): readonly Line[] => texts.map((text, id) => ({ id, text })));
const at = fc.nat(1_000);
const stepArbitrary = fc.oneof(
  fc.record({ do: fc.constantFrom("insert" as const, "repeat" as const), at, size: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ do: fc.constantFrom("remove" as const, "replace" as const), at, size: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ do: fc.constant("move" as const), at, size: fc.integer({ min: 1, max: 12 }), to: at }),
);
const editArbitrary = stepArbitrary.filter((step) => step.do !== "move");
const insertArbitrary = stepArbitrary.filter((step) => step.do === "insert");
/** One in three lines is unique. */
const blocksArbitrary = fc.array(
  fc.tuple(fc.constantFrom(...common.slice(1)), fc.constant(""), fc.constantFrom(...common.slice(1))),
  { minLength: 1, maxLength: 20 },
);
type Step = typeof stepArbitrary extends fc.Arbitrary<infer T> ? T : never;

let fresh = 1_000;
const newLines = (size: number): readonly Line[] =>
  Array.from({ length: size }, () => ({ id: (fresh += 1), text: `new line ${fresh}` }));

/** @param repeats whether lines are also copied; a copy can then take the place of a removed line */
function take(file: readonly Line[], step: Step, repeats: boolean): readonly Line[] {
  const start = step.at % (file.length + 1);
  const cut = file.slice(start, start + step.size);
  switch (step.do) {
    case "insert":
      return file.toSpliced(start, 0, ...newLines(step.size));
    case "repeat":
      return file.toSpliced(start, 0, ...(repeats ? cut.map(({ text }) => ({ id: (fresh += 1), text })) : []));
    case "remove":
      return file.toSpliced(start, step.size);
    case "replace":
      return file.toSpliced(start, step.size, ...newLines(cut.length));
    case "move": {
      const rest = file.toSpliced(start, step.size);
      return rest.toSpliced(step.to % (rest.length + 1), 0, ...cut);
    }
  }
}

const textsOf = (file: readonly Line[]): readonly string[] => file.map(({ text }) => text);

function rangeIn(file: readonly Line[], first: number, count: number): LineRange {
  const line = (first % file.length) + 1;
  return { line, endLine: Math.min(file.length, line + (count % 4)) };
}

function anchored(file: readonly Line[], range: LineRange): Anchor {
  const anchor = anchorOf(textsOf(file), range);
  if (anchor === null) throw new Error("The range is in the file.");
  return anchor;
}

const partOf = <T>(file: readonly T[], { line, endLine }: LineRange): readonly T[] => file.slice(line - 1, endLine);

test("after any edits, a comment is on the same text or outdated", () => {
  fc.assert(
    fc.property(fileArbitrary, at, at, fc.array(stepArbitrary, { maxLength: 12 }), (file, first, count, steps) => {
      const range = rangeIn(file, first, count);
      const anchor = anchored(file, range);
      const after = steps.reduce((lines, step) => take(lines, step, true), file);
      const found = findAnchor(anchor, textsOf(after));
      if (found !== null) expect(partOf(textsOf(after), found)).toEqual(anchor.lines);
    }),
    { numRuns: 2_000 },
  );
}, 60_000);

test("when its lines were replaced, a comment does not move to other lines that read the same", () => {
  fc.assert(
    fc.property(fileArbitrary, at, at, fc.array(insertArbitrary, { maxLength: 6 }), (file, first, count, inserts) => {
      const range = rangeIn(file, first, count);
      const lines = range.endLine - range.line + 1;
      const replaced = file.toSpliced(range.line - 1, lines, ...newLines(lines));
      const after = inserts.reduce<readonly Line[]>((now, step) => take(now, step, false), replaced);
      expect(findAnchor(anchored(file, range), textsOf(after))).toBeNull();
    }),
    { numRuns: 2_000 },
  );
}, 60_000);

test("a comment follows its lines while the eight lines around them stay", () => {
  fc.assert(
    fc.property(blocksArbitrary, at, at, fc.array(editArbitrary), (blocks, first, count, steps) => {
      const file: readonly Line[] = blocks
        .flat()
        .map((text, id) => ({ id, text: text === "" ? `unique ${id}` : text }));
      const range = rangeIn(file, first, count);
      const near = new Set(file.slice(Math.max(0, range.line - 9), range.endLine + 8).map(({ id }) => id));
      const after = steps.reduce<readonly Line[]>((now, step) => {
        const next = take(now, step, false);
        const ids = next.map(({ id }) => id);
        const start = ids.findIndex((id) => near.has(id));
        const isWhole = ids.slice(start, start + near.size).every((id) => near.has(id));
        return isWhole && ids.filter((id) => near.has(id)).length === near.size ? next : now;
      }, file);
      const line = after.findIndex(({ id }) => id === range.line - 1) + 1;
      expect(findAnchor(anchored(file, range), textsOf(after))).toEqual({
        line,
        endLine: line + range.endLine - range.line,
      });
    }),
    { numRuns: 2_000 },
  );
}, 60_000);

test.each([
  ["the same file", "a\nb\nc", "a\nb\nc", { line: 2, endLine: 2 }],
  ["lines before it", "a\nb\nc", "x\ny\na\nb\nc", { line: 4, endLine: 4 }],
  ["other line ends", "a\nb\nc\n", "a\r\nb\r\nc\r\n", { line: 2, endLine: 2 }],
  ["an empty file", "a\nb\nc", "", null],
  ["the line removed", "a\nb\nc", "a\nc", null],
  ["a bare line elsewhere", "x\n}\ny", "1\n2\n}\n3", null],
  ["a distinctive line elsewhere", "x\nreturn limit;\ny", "1\n2\nreturn limit;\n3", { line: 3, endLine: 3 }],
  ["two places alike", "x\nreturn limit;\ny", "1\nreturn limit;\n3\nreturn limit;\n5", null],
])("a comment on line 2: %s", (_what, before, after, expected) => {
  const anchor = anchorOf(linesOf(before), { line: 2, endLine: 2 });
  expect(anchor && findAnchor(anchor, linesOf(after))).toEqual(expected);
});

test("only lines of the file can be anchored, and long lines are no context", () => {
  const file = ["a".repeat(5_000), "b", "c"];
  for (const range of [
    [0, 1],
    [2, 1],
    [3, 4],
    [4, 4],
  ] as const) {
    expect(anchorOf(file, { line: range[0], endLine: range[1] })).toBeNull();
  }
  expect(anchorOf(file, { line: 2, endLine: 2 })).toMatchObject({
    before: [],
    fromStart: false,
    after: ["c"],
    toEnd: true,
  });
});
