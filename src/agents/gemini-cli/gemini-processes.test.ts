import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { geminiArguments, geminiSessions, loggedProcess } from "./gemini-processes.ts";

const id = "11112222-3333-4444-8555-666677778888";
const other = "be596b4b-3333-4444-8555-666677778888";

test.skipIf(process.platform !== "linux")(
  "the session of a live process is found by its arguments or by the session that started with it",
  async () => {
    const root = await makeTempFolder();
    const home = join(root, ".gemini");
    const chats = join(home, "tmp", "project", "chats");
    await mkdir(chats, { recursive: true });
    await writeFile(join(home, "projects.json"), JSON.stringify({ projects: { [root]: "project" } }));
    // With CHILD it has a child with its own arguments, as between fork and exec.
    const source = `
      const { CHILD, ...env } = process.env;
      const { execPath, argv } = process;
      if (CHILD) require("node:child_process").spawn(execPath, argv.slice(1), { env, stdio: ["ignore", "inherit", "inherit", "ipc"] });
      else console.log("ready");
      setInterval(() => undefined, 1_000);
      process.on("disconnect", () => process.exit());`;
    await writeFile(join(root, "gemini"), source);
    const start = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
      const child = spawn(process.execPath, [join(root, "gemini"), ...args], {
        cwd: root,
        env: { HOME: root, ...env },
        stdio: ["ignore", "pipe", "inherit"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      await new Promise((resolve) => child.stdout.once("data", resolve));
      return child.pid ?? 0;
    };
    const forking = await start([`--session-id=${id}`], { CHILD: "1", GEMINI_CLI_HOME: join(root, "forking") });
    expect((await loggedProcess(forking))?.firstId).toBe(id);
    const named = await start([`--session-id=${id}`]);
    await start([`--session-id=${other}`], { GEMINI_CLI_HOME: join(root, "elsewhere") });
    expect((await loggedProcess(named))?.firstId).toBe(id);
    expect(Math.abs(Date.now() - ((await loggedProcess(named))?.startedAt ?? 0))).toBeLessThan(60_000);
    expect(await loggedProcess(process.pid)).toBeNull();
    expect([...(await geminiSessions(home))]).toEqual([[id, { pid: named, activity: null }]]);
    const unnamed = await start([]);
    const head = { sessionId: other, startTime: new Date().toISOString() };
    await writeFile(join(chats, `session-2026-01-02T03-04-${other.slice(0, 8)}.jsonl`), `${JSON.stringify(head)}\n`);
    expect((await geminiSessions(home)).get(other)).toEqual({ pid: unnamed, activity: null });
    expect(await geminiSessions(join(root, "none"))).toEqual(new Map());
    await start(["--resume", id]);
    expect(await loggedProcess(named), "both are logged under one id").toBeNull();
  },
);

test.each<readonly [readonly string[], string | null | undefined]>([
  [["node", "/usr/local/bin/gemini", `--session-id=${id}`, "--approval-mode=default"], id],
  [["node", "--max-old-space-size=4096", "/lib/node_modules/@google/gemini-cli/bundle/gemini.js", "--resume", id], id],
  [["/opt/node-24/bin/node", "/usr/bin/gemini", "-r", id.toUpperCase()], id],
  [["gemini"], null],
  [["node", "/usr/bin/gemini", "--resume=latest"], null],
  [["node", "/usr/bin/gemini", `--prompt-interactive=--session-id=${id}`], null],
  [["node", "/usr/bin/gemini", "--", "--resume", id], null],
  [["vim", "/code/gemini"], undefined],
  [["node", "/code/server.js", "gemini"], undefined],
  [["bash", "-c", `gemini --resume=${id}`], undefined],
  [[], undefined],
])("the arguments %j name the session %s", (argv, named) => {
  expect(geminiArguments(argv)).toBe(named);
});
