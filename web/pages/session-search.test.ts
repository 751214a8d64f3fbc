import fc from "fast-check";
import { expect, test } from "vitest";
import { sessionStatusSchema } from "../../src/wire/coding.ts";
import { formatAsked, parseAsked } from "./session-search.tsx";

test("a parsed address is formatted as the same query", () => {
  const word = fc.string({ maxLength: 20 });
  const asked = fc.record({
    query: word.map((text) => text.trim()),
    everywhere: fc.boolean(),
    group: fc.constantFrom("" as const, "day" as const, "folder" as const, "agent" as const, "label" as const),
    filters: fc.record({
      agent: word,
      dir: word,
      status: fc.constantFrom("" as const, ...sessionStatusSchema.options),
      label: word,
      show: fc.constantFrom("" as const, "pinned" as const, "archived" as const),
    }),
  });
  fc.assert(
    fc.property(asked, (wanted) => {
      const address = new URLSearchParams(formatAsked(wanted)).toString();
      expect(parseAsked(new URLSearchParams(address))).toEqual(wanted);
    }),
  );
});

test("invalid filters are ignored", () => {
  expect(parseAsked(new URLSearchParams("status=odd&in=some&group=x&show=y"))).toEqual({
    query: "",
    everywhere: false,
    group: "",
    filters: { agent: "", dir: "", status: "", label: "", show: "" },
  });
});
