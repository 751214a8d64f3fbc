import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { spawn } from "@lydell/node-pty";
import { type PictureScene, prompts } from "./picture-scene.ts";
import { type Output, terminalSvg } from "./terminal-svg.ts";

const size = { cols: 104, rows: 26 };
/** The shell's prompt. */
const prompt = /(^|[\nh])\$ $/;
const bin = resolve(import.meta.dirname, "../bin/postern.js");

/** A shell session: a question, an attach to the agent's terminal, and a detach. */
export async function terminalPicture(scene: PictureScene): Promise<string> {
  await scene.gateway.app.agents.setDefault("claude-code");
  const outputs: Output[] = [];
  const startedAt = Date.now();
  const shell = spawn("/bin/bash", ["--norc", "--noprofile"], {
    name: "xterm-256color",
    ...size,
    cwd: scene.project,
    env: {
      ...scene.world.env,
      PATH: await pathWithPostern(scene),
      TERM: "xterm-256color",
      COLORTERM: "truecolor",
      PS1: "$ ",
    },
  });
  let screen = "";
  shell.onData((data) => {
    outputs.push({ atMs: Date.now() - startedAt, data });
    screen += data;
  });
  const until = async (text: string | RegExp): Promise<void> => {
    for (const deadline = Date.now() + 60_000; screen.search(text) === -1; await sleep(20)) {
      if (Date.now() > deadline) throw new Error(`The terminal does not show “${text}”.`);
    }
    await sleep(300);
    screen = "";
  };
  const type = async (text: string): Promise<void> => {
    await sleep(700);
    for (const key of text) {
      shell.write(key);
      await sleep(35);
    }
    await sleep(400);
    screen = "";
    shell.write("\r");
  };
  try {
    await until(prompt);
    await type(`postern coding ask "${prompts.summary}"`);
    await until(prompt);
    const { sessionId } = await newestSession(scene);
    await type(`postern attach ${sessionId}`);
    await until("for shortcuts");
    await sleep(1_500);
    await type(prompts.file);
    await until("fetch");
    await sleep(2_000);
    shell.write("\x1c");
    await until(prompt);
  } finally {
    shell.kill();
  }
  return terminalSvg(outputs, size);
}

async function newestSession({ gateway }: PictureScene): Promise<{ readonly sessionId: string }> {
  const { body } = await gateway.api.post<{ readonly sessions: readonly { readonly sessionId: string }[] }>(
    "/api/coding/coding_list_sessions",
    { limit: 1 },
  );
  const [session] = body.sessions;
  if (session === undefined) throw new Error("There is no session to attach to.");
  return session;
}

/** Puts `postern`, run by this Node, into a folder on the PATH. */
async function pathWithPostern({ world }: PictureScene): Promise<string> {
  const folder = join(world.root, "bin");
  await mkdir(folder, { recursive: true });
  const command = join(folder, "postern");
  await writeFile(command, `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`);
  await chmod(command, 0o755);
  return `${folder}:${world.env["PATH"] ?? ""}`;
}
