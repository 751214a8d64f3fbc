import fc from "fast-check";
import { expect, test } from "vitest";
import { commandsThatPass } from "../../test/support/command-prompts.ts";
import { hasCode } from "../core/errors.ts";
import { refuseCommandBehind, toPromptText } from "./prompt-text.ts";

const rules = { commandPrefixes: ["!", "/"], allowCommands: false };

function refused(prompt: string, allowCommands = false): boolean {
  try {
    toPromptText(prompt, { ...rules, allowCommands });
    return false;
  } catch (error) {
    return hasCode(error, "prompt_not_text");
  }
}

test("text passes as it is, with CRLF as LF and without white space at its ends", () => {
  expect(toPromptText("  - fix\tthe\r\nbug “ü” 🙂\n", rules)).toBe("- fix\tthe\nbug “ü” 🙂");
});

test("a first ! or / is a command, also behind white space, unless commands are allowed", () => {
  for (const prompt of ["!touch x", "/status", " \n/status", "\t!ls"]) {
    expect(refused(prompt), prompt).toBe(true);
    expect(refused(prompt, true), prompt).toBe(false);
  }
  expect(refused("what does ! mean, and a/b?")).toBe(false);
});

test("control characters, half surrogates and blank prompts are refused even when commands are allowed", () => {
  for (const prompt of ["a\u001b[201~b", "a\rb", "a\u0000", "a\u009b31m", "del\u007f", "half \ud83d", "  \n\t "]) {
    expect(refused(prompt, true), JSON.stringify(prompt)).toBe(true);
  }
});

test("what passes never holds a byte that a terminal would act on", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (prompt) => {
      if (refused(prompt, true)) return;
      const text = toPromptText(prompt, { ...rules, allowCommands: true });
      for (const character of text) {
        const code = character.codePointAt(0) ?? 0;
        expect((code >= 32 && (code < 127 || code > 159)) || code === 9 || code === 10).toBe(true);
      }
    }),
  );
});

test("no command of any agent passes, whatever it is disguised with", () => {
  expect(commandsThatPass(20_000)).toEqual({ passed: [], refused: expect.any(Number) });
});

test("a prompt never completes a command that a draft began", () => {
  const agent = { commandPrefixes: ["!", "/"], commandWords: ["exit"] };
  const passes = (draft: string, text: string): boolean => {
    try {
      refuseCommandBehind(draft, text, agent);
      return true;
    } catch (error) {
      expect(hasCode(error, "prompt_not_text")).toBe(true);
      return false;
    }
  };
  for (const [draft, text] of [
    ["/export ", "notes.txt"],
    ["/", "export"],
    [" \u200b!", "ls"],
    ["ex", "it"],
  ] as const) {
    expect(passes(draft, text), draft).toBe(false);
  }
  expect(passes("please ", "/export is slow")).toBe(true);
});

test("text in which a command's characters are not at the beginning passes", () => {
  for (const prompt of [
    "e\u0301t\u00e9 /x",
    "\ud83d\ude42 /deploy is slow",
    "exit the loop early",
    "- /x",
    "\u00bfqu\u00e9?",
  ]) {
    expect(refused(prompt), prompt).toBe(false);
  }
});
