import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { createFastClock } from "../../test/support/fast-clock.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { specOf } from "../../test/support/terminal-host.ts";
import { useTerminalHost } from "../../test/support/use-terminal-host.ts";
import { geminiCli } from "../agents/gemini-cli/gemini-cli.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { typePrompt } from "./deliver.ts";
import { clearComposer, composerText } from "./submit.ts";

/**
 * A composer like Gemini CLI's. By its own clock, Enter within 40 ms of a paste is a new line, and so are the first `newLines` Enters. It
 * reads nothing during the first `deafMs`, and exits at `/quit`.
 */
const composer = `
  const [newLines, deafMs] = process.argv.slice(2).map(Number);
  let text = "", pastedAt = 0, left = newLines;
  const paint = () => {
    const rows = (text || "  Type your message").split("\\n").join("\\r\\n   ");
    process.stdout.write("\\x1b[2J\\x1b[H" + "▄".repeat(20) + "\\r\\n > " + rows + "\\r\\n" + "▀".repeat(20) + "\\r\\n");
  };
  const take = (key) => {
    if (key === "\\x15") text = text.slice(0, text.lastIndexOf("\\n") + 1);
    else if (key === "\\x7f") text = text.slice(0, -1);
    else if (key !== "\\r") [text, pastedAt] = [text + key.slice(6, -6), Date.now()];
    else if (Date.now() - pastedAt < 40 || left-- > 0) text += "\\n";
    else if (text.trim() === "/quit") process.exit(0);
    else if (text !== "") {
      require("node:fs").appendFileSync("taken", JSON.stringify(text) + "\\n");
      text = "";
    }
    paint();
  };
  process.stdin.setRawMode(true);
  paint();
  setTimeout(() => process.stdin.on("data", (data) => {
    for (const [key] of String(data).matchAll(/\\x1b\\[200~.*?\\x1b\\[201~|[\\r\\x15\\x7f]/gs)) take(key);
  }), deafMs);
`;

const running = useTerminalHost();

async function deliver(
  text: string,
  { newLines = 0, deafMs = 0, clock = systemClock }: { newLines?: number; deafMs?: number; clock?: Clock } = {},
) {
  const host = running();
  const folder = await makeTempFolder();
  await writeFile(join(folder, "composer.cjs"), composer);
  const argv = [process.execPath, join(folder, "composer.cjs"), String(newLines), String(deafMs)] as const;
  const { terminalId } = await host.spawn(specOf([...argv], { cwd: folder, env: { PATH: process.env["PATH"] ?? "" } }));
  onTestFinished(async () => void (await errorCode(host.end(terminalId, { graceMs: 100 }))));
  const terminal = { terminalId, template: geminiCli, promptPath: join(folder, "prompt") };
  const end = await typePrompt({ host, clock }, terminal, {
    text,
    maySend: async () => (await host.list()).some((info) => info.terminalId === terminalId && info.exit === null),
    mayWrite: () => true,
    onTyping: async () => true,
  });
  const taken = async () =>
    (await readFile(join(folder, "taken"), "utf8").catch(() => ""))
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  return { end, taken, deps: { host, clock }, terminal };
}

test("to an agent that reads late, Enter comes after what was typed has shown, and not with it", async () => {
  const { end, taken } = await deliver("hello", { deafMs: 1_000 });
  expect(end).toBe("typed");
  expect(await taken()).toEqual(["hello "]);
});

test("Enter that shows as a new line is pressed once more, until what was typed has gone", async () => {
  const { end, taken } = await deliver("/compress", { newLines: 2 });
  expect(end).toBe("typed");
  expect(await taken()).toEqual(["/compress \n\n"]);
});

test("text that stays in the composer is reported and removed", async () => {
  const { end, taken, deps, terminal } = await deliver("two\nlines", { newLines: 100, clock: createFastClock() });
  expect(end).toBe("held");
  await clearComposer(deps, terminal, { text: "something else" });
  expect(await composerText(deps, terminal)).toMatch(/^two\nlines/);
  await clearComposer(deps, terminal, { text: "two\nlines" });
  await expect.poll(() => composerText(deps, terminal)).toBe("");
  expect(await taken()).toEqual([]);
});

test("a command that ends its agent was taken", async () => {
  expect(await deliver("/quit")).toMatchObject({ end: "typed" });
});
