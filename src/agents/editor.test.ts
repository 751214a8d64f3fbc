import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";

const editor = join(import.meta.dirname, "editor.sh");

let folder: string;
let edited: string;
let prompt: string;

beforeEach(async () => {
  folder = await makeTempFolder();
  edited = join(folder, "composer text.md");
  prompt = join(folder, "prompt");
  await writeFile(edited, "draft");
  // Writes its arguments, one per line, into the file to edit.
  const own = join(folder, "own-editor");
  await writeFile(own, '#!/bin/sh\nfor file in "$@"; do :; done\nprintf "%s\\n" "$@" >"$file"\n');
  await chmod(own, 0o755);
});

async function edit(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  await promisify(execFile)(editor, argv, {
    env: {
      PATH: process.env["PATH"] ?? "",
      POSTERN_SESSION_EDITOR: `'${join(folder, "own-editor")}' --wait "two words"`,
      ...env,
    },
    timeout: 10_000,
  });
  return readFile(edited, "utf8");
}

test.each(["", "no newline", "two\n\n", 'tab\t \\ "q" $HOME `id` 😀\r\n  \n', "-n\n"])(
  "the editor writes the prompt %j byte for byte, and removes the prompt and its mark",
  async (text) => {
    await writeFile(prompt, text);
    await writeFile(`${prompt}.pending`, "");
    expect(await edit(["+1", edited], { POSTERN_SESSION_PROMPT: prompt })).toBe(text);
    expect([existsSync(prompt), existsSync(`${prompt}.pending`)]).toEqual([false, false]);
  },
);

test("the editor leaves the text unchanged once, when its prompt was withdrawn", async () => {
  await writeFile(`${prompt}.pending`, "");
  expect(await edit([edited], { POSTERN_SESSION_PROMPT: prompt })).toBe("draft");
  expect(existsSync(`${prompt}.pending`)).toBe(false);
  expect(await edit([edited], { POSTERN_SESSION_PROMPT: prompt })).toContain("--wait");
});

test("without a waiting prompt the user's own editor opens, with its arguments", async () => {
  const own = `--wait\ntwo words\n+1\n${edited}\n`;
  expect(await edit(["+1", edited], { POSTERN_SESSION_PROMPT: prompt })).toBe(own);
  expect(await edit(["+1", edited])).toBe(own);
});
