import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { openCode } from "./opencode.ts";
import { isBeforeDatabase, openCodeArguments } from "./opencode-processes.ts";

test.skipIf(process.platform !== "linux")("a session that somebody's OpenCode was started with is told", async () => {
  const home = await makeTempFolder();
  await mkdir(join(home, "bin"));
  await writeFile(join(home, "bin/opencode"), "setInterval(() => undefined, 1_000); console.log('ready');");
  const start = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const child = spawn(process.execPath, [join(home, "bin/opencode"), ...args], {
      env: { HOME: home, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    return child.pid ?? 0;
  };
  const pid = await start(["--session=ses_a"]);
  await start(["-s", "ses_elsewhere"], { XDG_DATA_HOME: join(home, "elsewhere") });
  await start(["-s", "ses_own"], { POSTERN_SESSION_INBOX: join(home, "inbox") });
  await start([]);
  const sessions = await openCode.externalSessions({ HOME: home });
  expect([...sessions]).toEqual([["ses_a", { pid, activity: null }]]);
  expect(await openCode.externalHolder("ses_a", { HOME: home })).toEqual({ pid, activity: null });
  expect(await openCode.externalHolder("ses_own", { HOME: home })).toBeNull();
});

test.skipIf(process.platform !== "linux")(
  "a process that has not opened its database is told from one that has",
  async () => {
    const folder = await makeTempFolder();
    const link = join(await makeTempFolder(), "moved");
    await symlink(folder, link);
    const database = join(link, "opencode.db");
    expect(isBeforeDatabase(process.pid, database)).toBe(true);
    const child = spawn("sh", ["-c", 'exec 3>"$1"; echo open; read -r _', "sh", database]);
    onTestFinished(() => void child.kill());
    await once(child.stdout, "data");
    expect(isBeforeDatabase(process.pid, database)).toBe(false);
    expect(isBeforeDatabase(2 ** 22 + 1, database), "gone").toBe(false);
  },
);

test.each<readonly [readonly string[], string | null]>([
  [["opencode", "--session=ses_a"], "ses_a"],
  [["/opt/opencode/bin/opencode", "--model=m", "--session", "ses_a"], "ses_a"],
  [["node", "/usr/bin/opencode", "run", "-s", "ses_a", "hello"], "ses_a"],
  [["opencode", "--continue"], null],
  [["opencode", "--prompt=--session=ses_a"], null],
  [["opencode", "--session=../x"], null],
  [["vim", "opencode", "--session=ses_a"], null],
])("the arguments %j name the session %s", (argv, named) => {
  expect(openCodeArguments(argv)).toBe(named);
});
