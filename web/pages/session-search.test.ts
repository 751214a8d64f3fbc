import fc from "fast-check";
import { expect, test } from "vitest";
import { sessionStatusSchema } from "../../src/wire/coding.ts";
import { formatAsked, parseAsked } from "./session-search.tsx";

test("what an address asks for, it asks for again when it is written anew", () => {
  const word = fc.string({ maxLength: 20 });
  const asked = fc.record({
    query: word.map((text) => text.trim()),
    everywhere: fc.boolean(),
    filters: fc.record({
      agent: word,
      dir: word,
      status: fc.constantFrom("" as const, ...sessionStatusSchema.options),
    }),
  });
  fc.assert(
    fc.property(asked, (wanted) => {
      const address = new URLSearchParams(formatAsked(wanted)).toString();
      expect(parseAsked(new URLSearchParams(address))).toEqual(wanted);
    }),
  );
});

test("what nobody can ask for is not asked for", () => {
  expect(parseAsked(new URLSearchParams("status=odd&in=some"))).toEqual({
    query: "",
    everywhere: false,
    filters: { agent: "", dir: "", status: "" },
  });
});
