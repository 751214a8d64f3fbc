import fc from "fast-check";
import { expect, test } from "vitest";
import { suiteSeed } from "../../../test/support/suite-seed.ts";
import { entityTypes, predicates } from "../../wire/logs.ts";
import { assertionsOf } from "./claims.ts";

const session = { type: "Session", key: "s-1" } as const;
const text = "We edited src/a.ts and ran `npm  test`; see acme/app#12 at https://example.org/x.";
const piece = { text, session, at: 7 };

/** subject type, subject, predicate, object type, object */
type Row = readonly [string, unknown, string, string | null, unknown];

function said(...rows: readonly Row[]) {
  const facts = rows.map(([subjectType, subject, predicate, objectType, object]) => ({
    subjectType,
    subject,
    predicate,
    objectType,
    object,
  }));
  return assertionsOf({ facts }, piece);
}

test("what the text names is taken, as said by this session, at the entry's time", () => {
  expect(
    said(
      ["Session", "this", "edited", "File", "src/a.ts"],
      ["Session", "this", "ran", "Command", "NPM test"],
      ["Issue", "acme/app#12", "status", null, " open "],
      ["Session", "this", "mentioned", "Url", "https://example.org/x"],
    ),
  ).toEqual([
    { subject: session, predicate: "edited", object: { type: "File", key: "src/a.ts" }, at: 7 },
    { subject: session, predicate: "ran", object: { type: "Command", key: "NPM test" }, at: 7 },
    { subject: { type: "Issue", key: "acme/app#12" }, predicate: "status", object: "open", at: 7 },
    { subject: session, predicate: "mentioned", object: { type: "Url", key: "https://example.org/x" }, at: 7 },
  ]);
});

test("a decision is about the same as one that the rules find", () => {
  expect(
    said(["Session", "this", "decided", "Decision", "The Timeout"], ["Decision", "`Timeout`", "status", null, "30 s"]),
  ).toEqual([
    { subject: session, predicate: "decided", object: { type: "Decision", key: "timeout" }, at: 7 },
    { subject: { type: "Decision", key: "timeout" }, predicate: "status", object: "30 s", at: 7 },
  ]);
});

test("what was decided is taken only with the decision", () => {
  expect(
    said(["Decision", "timeout", "status", null, "60 s"], ["Session", "this", "decided", "Decision", "colour"]),
  ).toEqual([{ subject: session, predicate: "decided", object: { type: "Decision", key: "colour" }, at: 7 }]);
});

test.each<readonly [string, Row]>([
  ["another session", ["Session", "s-2", "remembered", null, "a"]],
  ["this session by its id", ["Session", "s-1", "remembered", null, "a"]],
  ["a file that the text does not name", ["Session", "this", "edited", "File", "src/b.ts"]],
  ["what the rules know for sure: the branch", ["Session", "this", "current_branch", "Branch", "src"]],
  ["what the rules know for sure: an exit code", ["Command", "npm test", "last_exit", null, "0"]],
  ["who ran it", ["Session", "this", "by_agent", null, "codex"]],
  ["an unknown predicate", ["Session", "this", "owns", "File", "src/a.ts"]],
  ["an unknown type", ["Session", "this", "mentioned", "Person", "acme"]],
  ["a subject that does not fit", ["File", "src/a.ts", "edited", "File", "src/a.ts"]],
  ["an object that does not fit", ["Session", "this", "edited", "Url", "https://example.org/x"]],
  ["a text where a thing has to be", ["Session", "this", "edited", null, "src/a.ts"]],
  ["a thing where a text has to be", ["Session", "this", "remembered", "File", "src/a.ts"]],
  ["no object", ["Session", "this", "remembered", null, " "]],
  ["an empty name", ["Session", "this", "edited", "File", ""]],
  ["a number", ["Session", "this", "remembered", null, 5]],
])("left out: %s", (_name, row) => {
  expect(said(row)).toEqual([]);
  // …and the others stay.
  expect(said(row, ["Session", "this", "remembered", null, "stays"])).toHaveLength(1);
});

test("members too many or too few leave a fact out, a time of the model's too", () => {
  const fact = { subjectType: "Session", subject: "this", predicate: "remembered", objectType: null, object: "a" };
  expect(
    assertionsOf({ facts: [{ ...fact, at: 1 }, { ...fact, objectType: undefined }, null, 3, [fact]] }, piece),
  ).toEqual([]);
  expect(assertionsOf({ facts: [fact], more: 1 }, piece)).toHaveLength(1);
});

test("long texts and names are cut", () => {
  const long = "x".repeat(5_000);
  const [value] = said(["Session", "this", "remembered", null, long]) ?? [];
  expect(value?.object).toHaveLength(2_000);
  const facts = [{ subjectType: "Session", subject: "this", predicate: "edited", objectType: "File", object: long }];
  const [name] = assertionsOf({ facts }, { ...piece, text: long }) ?? [];
  expect(name?.object).toMatchObject({ type: "File", key: "x".repeat(500) });
});

test("whatever is answered, only facts of these forms come out", () => {
  const word = fc.oneof(fc.constantFrom("this", "src/a.ts", "acme/app#12", "", "x"), fc.string());
  const type = fc.oneof(fc.constantFrom(...entityTypes), fc.constant(null), fc.string());
  const predicate = fc.oneof(fc.constantFrom(...predicates), fc.string());
  const fact = fc.oneof(
    fc.record({ subjectType: type, subject: word, predicate, objectType: type, object: word }),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(fc.oneof(fc.record({ facts: fc.array(fact) }), fc.jsonValue()), (answer) => {
      for (const { subject, object, at, predicate: found } of assertionsOf(answer, piece) ?? []) {
        expect(at).toBe(7);
        expect(["current_branch", "last_exit", "by_agent"]).not.toContain(found);
        if (subject.type === "Session") expect(subject).toEqual(session);
        if (typeof object !== "string" && object.type !== "Decision")
          expect(text.toLowerCase()).toContain(object.key.toLowerCase());
      }
    }),
    { seed: suiteSeed },
  );
});
