import { expect, test } from "vitest";
import { samePrompt } from "./prompts.ts";

test("a report in the agent's own form is of the prompt that was sent", () => {
  for (const [sent, reported] of [
    ["cafe\u0301 cre\u0300me", "caf\u00e9 cr\u00e8me"],
    ["soft\u00adhyphen, zero\u200bwidth, word\u2060joiner, \ufeffBOM", "softhyphen, zerowidth, wordjoiner, BOM"],
    ["\u2068isolated\u2069 \u061cmark a\u034fb", "isolated mark ab"],
    ["two\n  lines", "two lines"],
  ] as const) {
    expect(samePrompt(sent, reported), sent).toBe(true);
    expect(samePrompt(sent, `${reported} and more`), sent).toBe(false);
  }
  expect(samePrompt("\u200b", "\u200b")).toBe(false);
});

test("a long indented prompt is recognized in a report that the hook cut", () => {
  const sent = Array.from({ length: 1_000 }, (_, line) => `${" ".repeat(40)}line ${line}`).join("\n");
  expect(samePrompt(sent, sent.slice(0, 16_384))).toBe(true);
  expect(samePrompt(sent, sent.slice(0, 16_000))).toBe(false);
  expect(samePrompt(sent, sent.replace("line 7", "line x").slice(0, 16_384))).toBe(false);
});
