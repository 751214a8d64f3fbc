import fc from "fast-check";
import { expect, test } from "vitest";
import { hasCode } from "../core/errors.ts";
import { claudeCode } from "./agents/claude-code.ts";
import { codex } from "./agents/codex.ts";
import { geminiCli } from "./agents/gemini-cli.ts";
import { openCode } from "./agents/opencode.ts";
import { toPromptText } from "./prompt-text.ts";

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

/** Every character of these kinds, by Unicode: what an agent may remove from a prompt, or cannot be seen in it. */
const removable = Array.from({ length: 0x11_0000 }, (_, code) => code)
  .filter(
    (code) => (code < 0xd800 || code > 0xdfff) && (code >= 0xa0 || code === 0x20 || code === 0x0a || code === 0x09),
  )
  .map((code) => String.fromCodePoint(code))
  .filter((character) => /[\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}\s\u2800]/u.test(character));
const combining = ["\u0301", "\u0338", "\u034f", "\u20e3", "\ufe0f"];
const customCommands = ["/deploy", "/export path", "/logout", "/clear", "!touch x", "?", "@"];

test("no command of any agent passes, whatever invisible character or space stands before or inside it", () => {
  let tried = 0;
  for (const agent of [claudeCode, codex, geminiCli, openCode]) {
    const isRefused = (prompt: string): boolean => {
      try {
        toPromptText(prompt, { ...agent, allowCommands: false });
        return false;
      } catch (error) {
        return hasCode(error, "prompt_not_text");
      }
    };
    const prefixed = customCommands.filter((command) =>
      agent.commandPrefixes.some((prefix) => command.startsWith(prefix)),
    );
    const commands = [...prefixed, ...agent.commandWords, ...agent.commandWords.map((word) => word.toUpperCase())];
    for (const [index, character] of removable.entries()) {
      const other = removable[(index * 7_919) % removable.length] ?? "";
      const mark = combining[index % combining.length] ?? "";
      for (const command of commands) {
        const inside = 1 + (index % Math.max(1, command.length - 1));
        const isSpace = /[\p{Z}\s\u2800]/u.test(character);
        const written = [
          character + command,
          character + other + command,
          `${mark}${character}${command}`,
          `${command}${character}`,
          ...(isSpace ? [] : [command.slice(0, inside) + character + command.slice(inside)]),
        ];
        for (const prompt of written) {
          tried += 1;
          if (!isRefused(prompt)) expect.fail(`${agent.name} would get ${JSON.stringify(prompt)}`);
        }
      }
    }
  }
  expect(tried).toBeGreaterThan(200_000);
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
