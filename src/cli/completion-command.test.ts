import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { spawn } from "@lydell/node-pty";
import { expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../test/support/run-cli.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";

const run = promisify(execFile);
const bin = resolve(import.meta.dirname, "../../bin/postern.js");
const session = { sessionId: "0b0c1111-2222-4333-8444-555566667777", title: "Fix: the \u001b[31mlogin $(touch owned)" };

function programOf(shell: string): string | null {
  return [`/usr/bin/${shell}`, `/bin/${shell}`, `/usr/local/bin/${shell}`].find((path) => existsSync(path)) ?? null;
}

interface Scene {
  readonly folder: string;
  readonly script: string;
  readonly env: Record<string, string>;
}

/** The script of a shell, and a gateway with one session behind `postern` on PATH. */
async function makeScene(
  shell: string,
  { answers = Promise.resolve() }: { readonly answers?: Promise<void> } = {},
): Promise<Scene> {
  const folder = await makeTempFolder();
  const runDir = join(folder, "run");
  await mkdir(runDir, { mode: 0o700 });
  const server = createServer((request, response) => {
    const isList = request.method === "POST" && request.url === "/api/coding/coding_list_sessions";
    void answers.then(() => response.end(JSON.stringify(isList ? { sessions: [session, { sessionId: "$(x)" }] } : {})));
  }).listen(join(runDir, "gateway.sock"));
  onTestFinished(() => server.close().closeAllConnections());
  await writeFile(join(folder, "postern"), `#!/bin/sh\nexec ${process.execPath} ${bin} "$@"\n`);
  await chmod(join(folder, "postern"), 0o755);
  const { stdout } = await runCommand(["completion", shell]);
  const script = join(folder, `completion.${shell}`);
  // Raises the timeout, because a busy machine can take longer than a person would wait.
  await writeFile(script, stdout.replaceAll("completion sessions 250", "completion sessions 60000"));
  const env = { PATH: `${folder}:/usr/bin:/bin`, HOME: folder, POSTERN_HOME: folder, TERM: "xterm", LANG: "C.UTF-8" };
  return { folder, script, env };
}

/** Command lines up to the cursor, and the words that are offered. */
const offers: readonly (readonly [line: string, offered: readonly string[], absent?: string])[] = [
  ["postern sta", ["status"], "stop"],
  ["postern coding clo", ["close", "close-all"]],
  ["postern coding ask --permission-mode ", ["ask", "edits", "all"]],
  ["postern coding ask --work", ["--worktree"]],
  ["postern completion ", ["bash", "zsh", "fish"]],
  ["postern attach ", [session.sessionId]],
  ["postern coding ask --session 0b", [session.sessionId]],
];

type Complete = (line: string) => Promise<readonly string[]>;
type StartShell = (scene: Scene) => Promise<Complete> | Complete;

const bash: StartShell =
  ({ script, env }) =>
  async (line) => {
    const text = `source "$0"; read -r -a COMP_WORDS <<<"$1"; [[ "$1" == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _postern; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p postern >&2`;
    const { stdout, stderr } = await run("bash", ["--norc", "-c", text, script, line], { env, timeout: 60_000 });
    expect(stderr).toBe("complete -o default -F _postern postern\n");
    return stdout.trim().split("\n");
  };

const fish: StartShell =
  ({ script, env }) =>
  async (line) => {
    const text = `source ${script}; complete -C '${line}'`;
    const { stdout, stderr } = await run("fish", ["--no-config", "-c", text], { env, timeout: 60_000 });
    expect(stderr).toBe("");
    return stdout
      .trim()
      .split("\n")
      .map((each) => each.split("\t", 1)[0] ?? "");
  };

/** In a real terminal, because zsh completes nowhere else. One terminal for all lines, because `compinit` takes seconds. */
const zsh: StartShell = async ({ folder, script, env }) => {
  const pty = spawn("zsh", ["-f", "-i"], { cols: 200, rows: 50, cwd: folder, env: { ...env, TERM: "dumb" } });
  onTestFinished(() => pty.kill("SIGKILL"));
  let output = "";
  pty.onData((data) => (output += data));
  const shown = (text: RegExp): Promise<void> => expect.poll(() => output, { timeout: 60_000 }).toMatch(text);
  pty.write(`autoload -Uz compinit; compinit -D; source ${script}; unsetopt always_last_prompt; PS1='ready''> '\r`);
  await shown(/ready> /);
  let lines = 0;
  return async (line) => {
    // Ctrl-U removes the previous line, and the mark shows that zsh has done it.
    lines += 1;
    pty.write(`\u0015echo mark-$((${lines}+1000))\r`);
    await shown(new RegExp(`\\nmark-${lines + 1_000}\\r?\\n(?:.|\\s)*ready> `));
    output = "";
    // Ctrl-D lists without completing, and the prompt follows.
    pty.write(`${line}\u0004`);
    await shown(/\n(?:\u001b\S*|\r)*ready> /);
    return output.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, "").split(/\s+/);
  };
};

const shells: readonly (readonly [shell: string, start: StartShell])[] = [
  ["bash", bash],
  ["zsh", zsh],
  ["fish", fish],
];

for (const [shell, start] of shells) {
  const missing = programOf(shell) === null;
  test.skipIf(missing)(
    `${shell} completes commands, options, choices and session IDs${missing ? " (skipped: it is not installed)" : ""}`,
    async () => {
      const scene = await makeScene(shell);
      const complete = await start(scene);
      for (const [line, offered, absent = "nothing-like-it"] of offers) {
        const found = await complete(line);
        expect(found, line).toEqual(expect.arrayContaining([...offered]));
        expect(found, line).not.toContain(absent);
        expect(found.join(" "), "an id that is none").not.toContain("$(x)");
      }
      expect(existsSync(join(scene.folder, "owned"))).toBe(false);
    },
    300_000,
  );
}

test("session IDs of a gateway that is slow or absent are left out in time", async () => {
  const answered = Promise.withResolvers<void>();
  const { env, folder } = await makeScene("bash", { answers: answered.promise });
  const ids = async (withinMs: number) => {
    const { stdout } = await run(process.execPath, [bin, "completion", "sessions", String(withinMs)], { env });
    return stdout;
  };
  // The gateway answers only after this point.
  expect(await ids(1_000)).toBe("");
  answered.resolve();
  expect(await ids(60_000)).toBe(`${session.sessionId}\tFix: the  [31mlogin $(touch owned)\n`);
  env["POSTERN_HOME"] = join(folder, "absent");
  expect(await ids(60_000)).toBe("");
  expect(existsSync(join(folder, "absent"))).toBe(false);
}, 180_000);
