import { expect, test } from "vitest";
import { z } from "zod";
import * as coding from "./coding.ts";
import * as lists from "./session-lists.ts";
import { toolSchema } from "./tool.ts";

const schemas = Object.entries({ ...coding, ...lists }).flatMap(([name, schema]) => {
  const io = /(In|Out)putSchema$/.exec(name)?.[1];
  return io !== undefined && schema instanceof z.ZodType
    ? [{ name, schema, io: io === "In" ? "input" : "output" } as const]
    : [];
});

test.each(schemas)("$name is an object at its top, and refers to nothing that it does not bring", ({ schema, io }) => {
  const json = toolSchema(schema, io);
  const text = JSON.stringify(json);
  expect(json.type).toBe("object");
  expect(json["$ref"]).toBeUndefined();
  const defs = z.record(z.string(), z.unknown()).parse(json["$defs"] ?? {});
  const wanted = [...text.matchAll(/"\$ref":"#\/\$defs\/(\w+)"/g)].map(([, key = ""]) => key);
  expect(new Set(wanted)).toEqual(new Set(Object.keys(defs)));
  expect(json["additionalProperties"]).toBe(io === "input" ? false : undefined);
  expect(text).not.toContain('"id":"');
});

test("a schema that is another's by a name of its own is written out", () => {
  const inner = z.object({ text: z.string() }).meta({ id: "InnerOfTest" });
  const json = toolSchema(inner.meta({ id: "OuterOfTest", description: "The same." }), "output");
  expect(json).toMatchObject({ type: "object", description: "The same.", properties: { text: { type: "string" } } });
  expect(json["$defs"]).toBeUndefined();
});
