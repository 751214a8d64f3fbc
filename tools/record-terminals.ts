/**
 * Makes the recordings in test/fixtures/terminal anew, as asciicast v2: `node tools/record-terminals.ts [name …]`. Needs vim, htop, less,
 * tmux and git, and installs the pinned agents, which talk to the scripted model. The tests only read what it made.
 */
import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { spawn } from "@lydell/node-pty";
import { startModelServer } from "../test/model-server/model-server.ts";
import { startRawAgent } from "../test/support/raw-agent.ts";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { installAgents } from "./install-agents.ts";
import { showcase } from "./terminal-showcase.ts";

interface Size {
  readonly cols: number;
  readonly rows: number;
}

/** What is done to the program: wait so many milliseconds, type, resize. */
type Step = number | string | Size;

const target = join(import.meta.dirname, "..", "test", "fixtures", "terminal");
const SIZE: Size = { cols: 100, rows: 30 };
/** Enough for a picture of each program; an htop that runs for long tells nothing new. */
const MAX_CHARACTERS = 120_000;

interface Cast {
  output(data: string): void;
  resize(size: Size): void;
  save(name: string): Promise<void>;
}

function createCast(size: Size): Cast {
  const startedAt = Date.now();
  const lines = [JSON.stringify({ version: 2, width: size.cols, height: size.rows })];
  let characters = 0;
  const at = (): number => (Date.now() - startedAt) / 1000;
  return {
    output(data) {
      if (characters < MAX_CHARACTERS) lines.push(JSON.stringify([at(), "o", data]));
      characters += data.length;
    },
    resize: ({ cols, rows }) => void lines.push(JSON.stringify([at(), "r", `${cols}x${rows}`])),
    save: (name) => writeFile(join(target, `${name}.cast`), `${lines.join("\n")}\n`),
  };
}

async function perform(
  steps: readonly Step[],
  program: { write(text: string): void; resize(size: Size): void },
  cast: Cast,
): Promise<void> {
  for (const step of steps) {
    if (typeof step === "number") {
      await sleep(step);
    } else if (typeof step === "string") {
      program.write(step);
    } else {
      cast.resize(step);
      program.resize(step);
    }
  }
}

async function record(name: string, argv: readonly [string, ...string[]], steps: readonly Step[]): Promise<void> {
  const [file, ...args] = argv;
  const cast = createCast(SIZE);
  const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: folder, LANG: "C.UTF-8", COLORTERM: "truecolor" };
  const pty = spawn(file, args, {
    name: "xterm-256color",
    ...SIZE,
    cwd: folder,
    env: { ...env, TERM: "xterm-256color" },
  });
  pty.onData((data) => cast.output(data));
  const exited = new Promise<void>((resolve) => pty.onExit(() => resolve()));
  const program = {
    write: (text: string) => pty.write(text),
    resize: ({ cols, rows }: Size) => pty.resize(cols, rows),
  };
  await perform(steps, program, cast);
  pty.kill("SIGHUP");
  await exited;
  await cast.save(name);
}

async function recordAgent(agent: "claude" | "codex"): Promise<void> {
  const agents = await installAgents((sentence) => process.stderr.write(`${sentence}\n`));
  const model = await startModelServer();
  const cast = createCast({ cols: 120, rows: 40 });
  const raw = await startRawAgent({
    agent,
    binary: agents[agent],
    modelServerUrl: model.url,
    prompt:
      "think of colours\nrun echo hello\nlines 30\nsay 日本語 and emoji 👩‍👩‍👧 and a table:\n| a | b |\n|---|---|\n| 1 | 2 |",
    onOutput: (data) => cast.output(data),
  });
  try {
    await perform([6_000, { cols: 84, rows: 24 }, 1_500], raw, cast);
    await raw.prompt("write notes.txt with one\nslow 1500\nlines 40");
    await perform([4_000, "some words that are typed", 500, { cols: 130, rows: 45 }, 1_500, "\x1b", 500], raw, cast);
  } finally {
    await raw.close();
    await model.close();
  }
  await cast.save(agent);
}

const PROGRAMS: Readonly<Record<string, () => Promise<void>>> = {
  showcase: async () => {
    const text = showcase();
    const third = Math.floor(text.length / 3);
    const cast = createCast(SIZE);
    cast.output(text.slice(0, third));
    cast.resize({ cols: 70, rows: 20 });
    cast.output(text.slice(third, 2 * third));
    cast.resize({ cols: 120, rows: 40 });
    cast.output(text.slice(2 * third));
    await cast.save("showcase");
  },
  vim: () =>
    record(
      "vim",
      ["/usr/bin/vim", "-u", "NONE", "-N", "-c", "syntax on | set number termguicolors mouse=a hlsearch", "code.ts"],
      [
        ...[
          800,
          "\x04",
          300,
          "\x04",
          300,
          "/const\r",
          300,
          "ggO// 日本語 and emoji 👍🏽 and é\x1b",
          300,
          ":vsplit\r",
          300,
        ],
        ...[
          { cols: 70, rows: 22 },
          500,
          "\x06",
          300,
          ":set list wrap\r",
          300,
          { cols: 120, rows: 35 },
          500,
          "Gdd",
          300,
          ":q!\r:q!\r",
          300,
        ],
      ],
    ),
  htop: () =>
    record(
      "htop",
      ["/usr/bin/htop", "-d", "7"],
      [2_000, "t", 800, { cols: 80, rows: 24 }, 1_000, "\x1bOB\x1bOB", 800, "q", 300],
    ),
  less: () =>
    record(
      "less",
      ["/usr/bin/less", "-R", "colors.txt"],
      [
        ...[
          500,
          " ",
          200,
          " ",
          200,
          "/line 1.5\r",
          300,
          "n",
          200,
          { cols: 60, rows: 18 },
          400,
          "b",
          200,
          "-S\r",
          300,
          "G",
          300,
          "q",
          200,
        ],
      ],
    ),
  tmux: () =>
    record(
      "tmux",
      ["/usr/bin/tmux", "-L", `postern-recording-${process.pid}`, "-f", "/dev/null", "new-session", "/bin/sh"],
      [
        ...[
          800,
          "cat colors.txt | head -40\r",
          500,
          "\x02%",
          500,
          "ls -la --color=always\r",
          400,
          '\x02"',
          500,
          "echo 日本語 👍🏽\r",
          400,
        ],
        ...[
          { cols: 84, rows: 24 },
          600,
          "\x02z",
          400,
          "seq 200\r",
          400,
          "\x02[\x1b[5~",
          400,
          "q",
          200,
          "\x02z",
          400,
          "\x02:kill-server\r",
          500,
        ],
      ],
    ),
  git: () =>
    record(
      "git",
      ["/bin/sh", "-i"],
      [
        ...[
          400,
          "git log --color --graph --stat -12 | cat\r",
          700,
          { cols: 60, rows: 20 },
          300,
          "git log --color -p -6 | cat\r",
          700,
        ],
        ...[
          { cols: 110, rows: 32 },
          300,
          "git -c core.pager='less -R' log --color --graph\r",
          600,
          " ",
          300,
          "q",
          200,
          "exit\r",
          300,
        ],
      ],
    ),
  claude: () => recordAgent("claude"),
  codex: () => recordAgent("codex"),
};

async function writeSamples(): Promise<void> {
  const code = Array.from(
    { length: 120 },
    (_, n) =>
      `export const value${n} = { name: "entry ${n}", size: ${n * 37}, tags: ["a", "b"] }; // ${"note ".repeat(n % 9)}`,
  );
  await writeFile(join(folder, "code.ts"), `${code.join("\n")}\n`);
  const colors = Array.from(
    { length: 300 },
    (_, n) => `\x1b[38;5;${n % 256}mline ${n}\x1b[0m ${"text 文字 ".repeat(n % 14)}`,
  );
  await writeFile(join(folder, "colors.txt"), `${colors.join("\n")}\n`);
  const git = async (...args: readonly string[]): Promise<void> => {
    await promisify(execFile)("git", ["-c", "user.name=Example", "-c", "user.email=mail@example.org", ...args], {
      cwd: folder,
    });
  };
  await git("init", "-q");
  for (let n = 0; n < 12; n++) {
    await writeFile(
      join(folder, `part-${n % 4}.txt`),
      Array.from({ length: 10 + n }, (_, at) => `${at * n} grün 日本`).join("\n"),
    );
    await git("add", ".");
    await git("commit", "-qm", `feat: part ${n} with a title that goes on for a while`);
  }
}

const folder = makeTestFolder("recording");
await writeSamples();
const wanted = process.argv.slice(2);
for (const [name, make] of Object.entries(PROGRAMS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  process.stderr.write(`${name}\n`);
  await make();
}
await rm(folder, { recursive: true, force: true });
