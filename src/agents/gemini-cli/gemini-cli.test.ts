import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { newUuid } from "../../core/ids.ts";
import { geminiCli } from "./gemini-cli.ts";
import { answerKeyDialog, hidesTitle } from "./gemini-settings.ts";

/** Visible lines as Gemini CLI 0.61.0 painted them. */
const top = "▄".repeat(80);
const bottom = "▀".repeat(80);
const foot = [" workspace (/directory)   sandbox   /model", " /code/project   no sandbox   Auto"];
const said = [top, " > write it", bottom];
const composer = [top, " >   Type your message or @path/to/file", bottom, ...foot];

test.each([
  ["after the start", composer, true],
  ["where everything is allowed", [top, " *   Type your message", bottom, ...foot], true],
  ["with typed lines", [...said, "✦ ECHO", top, " > one", "   two", bottom, ...foot], true],
  ["in a dialog", [...said, "╭────╮", "│ ? Shell  echo hi", "│ ● 1. Allow once", "╰────╯"], false],
  ["under an unfinished answer", [...said, "✦ ECHO"], false],
  ["of nothing", ["", ""], false],
])("whether the composer is painted, %s", (_title, lines, painted) => {
  expect(geminiCli.composerPainted(lines)).toBe(painted);
});

test("the composer's text is the typed text, without its prompt sign and earlier prompts", () => {
  const textOn = (lines: readonly string[]) => geminiCli.composer?.text({ lines, bright: null });
  expect(textOn([...said, "✦ ECHO", top, " > one", "   two", bottom, ...foot])).toBe("one\ntwo");
  expect(textOn(composer)).toBe("");
  expect(textOn([...said, "✦ ECHO"])).toBeNull();
});

test.each([
  ["◇  Ready (project)", "idle"],
  ["✦  Working… (project)", "working"],
  ["✦  Reading the files (project)", "working"],
  ["⏲  Working… (project)", "working"],
  ["✋  Action Required (project)", "needs_permission"],
  ["Gemini CLI (project)", null],
  ["vim README.md", null],
])("the title %s", (title, activity) => {
  expect(geminiCli.readTitle?.(title)).toBe(activity);
});

describe("a transcript", () => {
  async function put(home: string, place: string, head: string): Promise<string> {
    const path = join(home, ".gemini", "tmp", place);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, head);
    return path;
  }

  test("is found by the id in its first line, never by its name alone; of two, the one that was started first", async () => {
    const home = await makeTempFolder();
    const id = newUuid();
    const other = `${id.slice(0, 9)}${newUuid().slice(9)}`;
    const name = `chats/session-2026-11-22T03-42-${id.slice(0, 8)}.jsonl`;
    const head = (sessionId: string): string => `${JSON.stringify({ sessionId, projectHash: "0" })}\n`;
    await put(home, `a/${name}`, head(other));
    const left = await put(home, `b/${name.replace("22T", "23T")}`, head(id));
    expect(await geminiCli.findTranscript(id, { HOME: home })).toBe(left);
    const path = await put(home, `b/${name}`, head(id));
    await put(home, `c/${name}`, "no JSON");
    expect(await geminiCli.findTranscript(id, { HOME: home })).toBe(path);
    expect(await geminiCli.findTranscript(newUuid(), { HOME: home })).toBeNull();
    expect(await geminiCli.findTranscript("../../x", { HOME: home })).toBeNull();
  });
});

describe("the settings", () => {
  const env = (home: string) => ({ HOME: home, GEMINI_API_KEY: "k" });
  const settingsOf = (home: string): string => join(home, ".gemini", "settings.json");

  test("get the key as the login, and keep their other values", async () => {
    const home = await makeTempFolder();
    await answerKeyDialog({ HOME: home });
    await expect(stat(settingsOf(home))).rejects.toThrow("ENOENT");
    await answerKeyDialog(env(home));
    expect(JSON.parse(await readFile(settingsOf(home), "utf8"))).toEqual({
      security: { auth: { selectedType: "gemini-api-key" } },
    });
    await writeFile(settingsOf(home), '{"ui": {"theme": "x"}, "security": {"other": 1}}');
    await answerKeyDialog(env(home));
    expect(JSON.parse(await readFile(settingsOf(home), "utf8"))).toEqual({
      ui: { theme: "x" },
      security: { other: 1, auth: { selectedType: "gemini-api-key" } },
    });
  });

  test.each(['{"security": {"auth": {"selectedType": "oauth-personal"}}}', '{\n// mine\n"ui": {}}', "[]"])(
    "are not changed: %s",
    async (text) => {
      const home = await makeTempFolder();
      await mkdir(join(home, ".gemini"));
      await writeFile(settingsOf(home), text);
      await answerKeyDialog(env(home));
      expect(await readFile(settingsOf(home), "utf8")).toBe(text);
    },
  );

  test("of the user or the project that disable the title are named", async () => {
    const [home, dir] = [await makeTempFolder(), await makeTempFolder()];
    expect(await hidesTitle({ env: { HOME: home }, dir })).toBeNull();
    await mkdir(join(home, ".gemini"));
    await writeFile(settingsOf(home), '{"ui": {\n// "hideWindowTitle": true,\n"dynamicWindowTitle": true}}');
    expect(await hidesTitle({ env: { HOME: home }, dir })).toBeNull();
    await writeFile(settingsOf(home), '{"ui": {"hideWindowTitle": true}}');
    expect(await hidesTitle({ env: { HOME: home }, dir })).toBe(settingsOf(home));
  });
});
