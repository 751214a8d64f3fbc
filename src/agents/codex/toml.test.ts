import fc from "fast-check";
import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { tomlString, tomlTable } from "./codex-provider.ts";

test("any text survives as a TOML string", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(parse(`value=${tomlString(text)}`)["value"]).toBe(text.toWellFormed());
    }),
  );
  for (const text of ["\u007f", "\u0000\b\t\n\f\r\u001b", '"""', "'''", "\\u0041", "\ud800", "🦊 \u2028"]) {
    expect(parse(`value=${tomlString(text)}`)["value"]).toBe(text.toWellFormed());
  }
});

test("any text survives as the key of a TOML table", () => {
  const table = tomlTable([
    ['/a b/"c"=.x', `{level="one"}`],
    ["/ü", "2"],
  ]);
  expect(parse(`value=${table}`)["value"]).toEqual({ '/a b/"c"=.x': { level: "one" }, "/ü": 2 });
});
