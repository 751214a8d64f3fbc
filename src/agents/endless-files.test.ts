import { execFile } from "node:child_process";
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { undecidedMcpServers } from "./claude-code/claude-mcp.ts";
import { liveClaudeState } from "./claude-code/claude-state.ts";
import { hidesTitle } from "./gemini-cli/gemini-settings.ts";

/** What a repository, or a child of an agent, can leave where the gateway looks for a small file. */
const endless: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  "a link to a device without an end": (path) => symlink("/dev/zero", path),
  "a pipe that nobody writes to": (path) => promisify(execFile)("mkfifo", [path]),
  "a link to a pipe": async (path) => {
    await promisify(execFile)("mkfifo", [`${path}.pipe`]);
    await symlink(`${path}.pipe`, path);
  },
  "a sparse file of 1 TB": async (path) => {
    await writeFile(path, "");
    await truncate(path, 1024 ** 4);
  },
  "a folder": (path) => mkdir(path),
};

describe.each(Object.entries(endless))("%s", (_what, put) => {
  test.each([
    [".mcp.json", async (root: string) => undecidedMcpServers(root, join(root, "config"), {}), []],
    [".claude/settings.json", async (root: string) => undecidedMcpServers(root, join(root, "config"), {}), []],
    [
      ".gemini/settings.json",
      async (root: string) => hidesTitle({ env: { HOME: join(root, "home") }, dir: root }),
      null,
    ],
    [`${process.pid}.json`, async (root: string) => liveClaudeState(root, process.pid), null],
  ] as const)("in the place of %s is read as nothing, at once", async (name, read, nothing) => {
    const root = await makeTempFolder();
    await mkdir(dirname(join(root, name)), { recursive: true });
    await put(join(root, name));
    expect(await read(root)).toEqual(nothing);
  });
});
