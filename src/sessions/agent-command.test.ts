import { mkdir, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import type { AgentCommand } from "../agents/index.ts";
import { toCommandLine } from "./agent-command.ts";

const listed = (name: string, sendable: AgentCommand["sendable"], source: AgentCommand["source"] = "agent") => ({
  ...{ name, sendable, source },
  description: "",
  argumentHint: "",
});

const commands = [
  listed("/compact", "with_or_without_arguments"),
  listed("/clear", "without_arguments"),
  listed("/help", null),
  listed("/team:greet", "with_or_without_arguments", "project"),
];

async function setUp() {
  const dir = await realpath(await makeTempFolder());
  await mkdir(join(dir, ".postern"));
  for (const path of ["a.ts", ".postern/key"]) await writeFile(join(dir, path), "");
  const place = { commands, dir, stateDir: join(dir, ".postern") };
  return { dir, line: (prompt: string) => toCommandLine(prompt, place) };
}

test("a command of the list is typed as it is, without blanks at its ends", async () => {
  const { line } = await setUp();
  expect(await line("/compact")).toEqual({ text: "/compact", startsTurn: false });
  expect(await line("  /compact keep the names\n")).toEqual({ text: "/compact keep the names", startsTurn: false });
  expect(await line("/team:greet Ünal @a.ts")).toEqual({ text: "/team:greet Ünal @a.ts", startsTurn: true });
});

test("all else is refused: not listed, wrong arguments, several lines, what cannot be seen, ! and files outside", async () => {
  const { line } = await setUp();
  const refused = [
    "",
    "/",
    "compact",
    "/Compact",
    "/compactx",
    "/compact\tx",
    "//compact",
    "\uff0fcompact",
    "/help",
    "/exit",
    "/clear now",
    "/compact\nrun this",
    "/compact\rrun this",
    "/compact\u2028run this",
    "/com\u200bpact",
    "/compact keep\u202e",
    "/compact \u001b[A",
    "/compact \ud800",
    "/compact !ls",
    "!ls",
    "/team:greet !`touch x`",
    "/team:greet @/etc/passwd",
    "/team:greet @../x",
    "/team:greet @~/.ssh/id_rsa",
    "/team:greet @.postern/key",
    `/compact ${"x".repeat(500)}`,
  ];
  for (const prompt of refused) expect(await errorCode(line(prompt)), prompt).toBe("command_not_sendable");
});

test("the message names what can be sent", async () => {
  const { line } = await setUp();
  await expect(line("/logout")).rejects.toThrow("These can: `/compact`, `/clear`, `/team:greet`");
});
