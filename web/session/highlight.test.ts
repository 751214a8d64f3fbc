import { describe, expect, it } from "vitest";
import { highlight } from "./highlight.ts";

describe("highlighted code", () => {
  it("is the same text, in labelled pieces", () => {
    const code = 'const a = "<b>" // note\n';
    const pieces = highlight(code, "ts");
    expect(pieces?.map(({ text }) => text).join("")).toBe(code);
    expect(pieces?.find(({ text }) => text === "const")?.scope).toBe("keyword");
    expect(pieces?.find(({ text }) => text === '"<b>"')?.scope).toBe("string");
    expect(pieces?.find(({ text }) => text === "// note")?.scope).toBe("comment");
  });

  it("stays plain in an unknown language, and when it is long", () => {
    expect(highlight("x", "no-such-language")).toBeNull();
    expect(highlight("x".repeat(100_000), "ts")).toBeNull();
  });
});
