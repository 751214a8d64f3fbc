import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { endlessFiles } from "../../test/support/endless-files.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { readClaudeConfig, undecidedMcpServers } from "./claude-code/claude-config.ts";
import { liveClaudeState } from "./claude-code/claude-state.ts";
import { keyProviderArguments, readCodexConfig } from "./codex/codex-arguments.ts";
import { sessionsBegun, typedLog, typedSince } from "./gemini-cli/gemini-log.ts";
import { geminiSessions } from "./gemini-cli/gemini-processes.ts";
import { hidesTitle } from "./gemini-cli/gemini-settings.ts";
import { openCodeLogin } from "./opencode/opencode-config.ts";

const codexConfig = { choosesProvider: true, openAiUrl: null, developerInstructions: null };
const key = { OPENAI_API_KEY: "sk-secret" };

describe.each(Object.entries(endlessFiles))("%s", (_what, put) => {
  test.each([
    [".mcp.json", async (root: string) => undecidedMcpServers(root, join(root, "config"), {}), []],
    [".claude/settings.json", async (root: string) => undecidedMcpServers(root, join(root, "config"), {}), []],
    [
      ".gemini/settings.json",
      async (root: string) => hidesTitle({ env: { HOME: join(root, "home") }, dir: root }),
      null,
    ],
    [`${process.pid}.json`, async (root: string) => liveClaudeState(root, process.pid), null],
    [".claude.json", (root: string) => errorCode(readClaudeConfig(join(root, ".claude.json"))), "agent_start_failed"],
    ["config.toml", readCodexConfig, codexConfig],
    ["auth.json", (root: string) => keyProviderArguments(root, { ...codexConfig, choosesProvider: false }, key), []],
    ["projects.json", geminiSessions, new Map()],
    [typedLog, async (root: string) => typedSince(root, 0), new Set()],
    [
      "chats/session-2026-01-02T03-04-be596b4b.jsonl",
      async (root: string) => sessionsBegun(root, { from: 0, to: Date.now() }),
      new Set(),
    ],
    ["opencode/auth.json", async (root: string) => openCodeLogin({ XDG_DATA_HOME: root }), "unknown"],
  ] as const)("in place of %s is treated as missing, without delay", async (name, read, nothing) => {
    const root = await makeTempFolder();
    await mkdir(dirname(join(root, name)), { recursive: true });
    await put(join(root, name));
    expect(await read(root)).toEqual(nothing);
  });
});
