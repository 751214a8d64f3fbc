import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { commandsThatPass } from "../../test/support/command-prompts.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { hasCode } from "../core/errors.ts";
import { refuseCommandBehind, refuseOutsideMentions, toPromptText } from "./prompt-text.ts";

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

async function makeProject(): Promise<{ readonly dir: string; readonly secret: string }> {
  const root = await realpath(await makeTempFolder());
  const dir = join(root, "project");
  await mkdir(join(dir, "src"), { recursive: true });
  const secret = join(root, "my secret.txt");
  await writeFile(secret, "secret");
  await writeFile(join(root, "key"), "secret");
  await writeFile(join(dir, "src", "a.ts"), "");
  await symlink(join(root, "key"), join(dir, "src", "link"));
  await mkdir(join(dir, ".postern"));
  await writeFile(join(dir, ".postern", "key"), "secret");
  return { dir, secret };
}

async function isRefused(prompt: string, dir: string): Promise<boolean> {
  try {
    await refuseOutsideMentions(prompt, { dir, stateDir: join(dir, ".postern") });
    return false;
  } catch (error) {
    if (hasCode(error, "prompt_not_text")) return true;
    throw error;
  }
}

test("a mention of a file outside the session's folder is refused, however it is written", async () => {
  const { dir, secret } = await makeProject();
  const written = [
    `@${secret.replaceAll(" ", "\\ ")}`,
    `read @"${secret}" please`,
    `@"${secret}`,
    "see @../key",
    "see (@../key).",
    "@src/../../key#L1-5",
    "@../key:3",
    "@.\u200b./k\u00adey",
    "@\u2060../key",
    "@@../key",
    "@src/a.ts@../key",
    "@src/link",
    "@~/.postern/key",
    `@${homedir()}`,
    "@/etc/hostname",
    "@/",
    "@..",
    "@file:///etc/hostname",
    "mail me@example.com\n@../key",
    `@../key${",".repeat(300)}`,
    `@${"./".repeat(100)}../key${"!".repeat(100)}`,
    "@src\u00a0x/../../key",
    "@src\u2028x/../../key",
    '@a"b c"/../../key',
    '@a"b\nc"/../../key',
    '@"../key\nand more',
    "@'../key'",
    "@`../key`",
    "@../../../key",
    "@src/../../../key",
    "@../KEY/../key",
    "@../no-such-file",
    "@src/../../no-such-file",
    "@.postern/key",
    "@./.postern/../.postern/key",
    "@docs:file:///etc/hostname",
    "@docs:note://one",
    "@docs:urn:one",
  ];
  for (const prompt of written) expect(await isRefused(prompt, dir), prompt).toBe(true);
});

test("mentions inside the folder, e-mail addresses and words with an @ pass", async () => {
  const { dir } = await makeProject();
  const written = [
    "look at @src/a.ts and @src/",
    `@${join(dir, "src", "a.ts")}`,
    "@src/../src/a.ts",
    "write to me@example.com",
    "import { cn } from '@/lib/no-such-module-of-the-project'",
    "the @param tag, @scope/package and @media (width)",
    "a lone @ and an @@",
    "git clone git@example.com:owner/repository.git, http://me@example.com:8080/x",
    "@@ -1,2 +3,4 @@ function x()",
    "@.postern-not/key and @src/../no-such-file",
    `@${"x".repeat(10_000)}`,
  ];
  for (const prompt of written) expect(await isRefused(prompt, dir), prompt).toBe(false);
});

test("a prompt of nothing but mentions is decided within seconds", async () => {
  const { dir } = await makeProject();
  const written = [
    "@".repeat(1_000_000),
    "@a.b,c ".repeat(100_000),
    `@${"a.b/".repeat(200_000)}`,
    "@../".repeat(200_000),
  ];
  for (const prompt of written) {
    const startedAt = performance.now();
    await isRefused(prompt, dir);
    expect(performance.now() - startedAt, prompt.slice(0, 10)).toBeLessThan(5_000);
  }
  expect(await isRefused("me@example.com ".repeat(2_000), dir)).toBe(false);
});
