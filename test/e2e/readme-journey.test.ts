import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { debianRoot } from "../../tools/debian-root.ts";
import { type DocumentedCommand, documents } from "../support/documentation.ts";
import { type Newcomer, registry, seatNewcomer } from "../support/newcomer.ts";
import type { Keys, TypedOutcome } from "../support/typed-terminal.ts";

const artifacts = resolve(import.meta.dirname, "../../test-artifacts/readme-journey");
const debian = debianRoot();
const why = "missing" in debian ? debian.missing : await whyNoRegistry();

async function whyNoRegistry(): Promise<string | null> {
  try {
    await fetch(registry, { signal: AbortSignal.timeout(10_000) });
    return null;
  } catch {
    return `npm's registry (${registry.hostname}) cannot be reached`;
  }
}

/** How a command is typed, and what it has to print. The first that fits counts; one without an entry only has to succeed. */
interface Step {
  readonly command: RegExp;
  readonly shows?: RegExp;
  readonly keys?: Keys;
  /** Runs next to the others, in a terminal of its own. */
  readonly stays?: true;
  /** Typed before, as a person would who has read the comment. */
  readonly first?: readonly string[];
  /** As `first`, for who may not write to npm's folder for commands. */
  readonly firstAsUser?: readonly string[];
  /** Ended with Ctrl-C. */
  readonly exitCode?: number;
}

const interrupt = "\u0003";
const makeProject = [
  "git init --quiet --initial-branch=main ~/code/project",
  "echo '# Project' >~/code/project/README.md",
  "git -C ~/code/project add README.md",
  "git -C ~/code/project -c user.name=Jo -c user.email=jo@example.invalid commit --quiet --message=Begin",
];
const steps: readonly Step[] = [
  {
    command: /npm run demo/,
    exitCode: 130,
    keys: { at: /Press Ctrl-C to stop it[^]*manifest/, keys: interrupt, once: true },
    shows: /The note is there\.[^]*The note is there\.[^]*The gateway is running at/,
  },
  { command: /^npm ci && npm link/, shows: /added \d+ packages/, firstAsUser: ["npm config set prefix ~/.local"] },
  { command: /^postern coding setup/, keys: { at: /◆/, keys: "\r" }, shows: /claude-code +default +key_variable/ },
  { command: /^mkdir .*postern folder add|^postern folder add/, shows: /Registered .*\/code for files, coding/ },
  { command: /^postern serve/, stays: true, shows: /Sign in \(single use/ },
  { command: /^cd ~\/code\/project/, first: makeProject },
  { command: /coding ask (--session \S+ )?"(What|And)/, shows: /ECHO (What|And)/ },
  { command: /coding answer/, first: ['postern coding ask "write asked.txt with by leave" || true'] },
  { command: /^postern coding list/, shows: /claude-code/ },
];

/** README up to the first answered permission request. */
function journey(): readonly DocumentedCommand[] {
  const commands = documents().find(({ path }) => path === "README.md")?.commands ?? [];
  return commands.slice(0, commands.findIndex(({ text }) => text.startsWith("postern coding answer")) + 1);
}

/** How long something took since `git clone`. */
interface Spent {
  readonly seconds: number;
  /** Of the processor, in this terminal. */
  readonly processorSeconds: number;
}

/** All that was typed, with its time and output; kept as a file. */
class Transcript {
  readonly #lines: string[] = [];
  seconds = 0;

  add(command: string, { exitCode, output, seconds }: TypedOutcome, place = ""): void {
    this.seconds += seconds;
    const note = `[${seconds.toFixed(1)} s, exit ${exitCode}]${place === "" ? "" : ` ${place}`}`;
    this.#lines.push(`$ ${command}`, note, output, "");
  }

  async write(name: string): Promise<void> {
    await mkdir(artifacts, { recursive: true });
    await writeFile(join(artifacts, `${name}.txt`), this.#lines.join("\n"));
  }
}

/** The two that differ most. Each takes a minute or more. */
const usual = [
  { major: 20, isRoot: false },
  { major: 24, isRoot: true },
] as const;
const further = [
  { major: 20, isRoot: true },
  { major: 24, isRoot: false },
] as const;
const whyNotFurther =
  process.env["README_JOURNEYS"] === "all" ? null : "it takes a minute more; README_JOURNEYS=all runs it";

describe.skipIf(why !== null)(`README.md, typed into an empty home${why === null ? "" : ` (skipped: ${why})`}`, () => {
  for (const one of usual) test(titleOf(one), { timeout: 600_000 }, () => takeJourney(one));
  for (const one of further) {
    const note = whyNotFurther === null ? "" : ` (skipped: ${whyNotFurther})`;
    test.skipIf(whyNotFurther !== null)(`${titleOf(one)}${note}`, { timeout: 600_000 }, () => takeJourney(one));
  }
});

interface Seat {
  readonly major: 20 | 24;
  readonly isRoot: boolean;
}

function titleOf({ major, isRoot }: Seat): string {
  return `on Node ${major} as ${isRoot ? "root" : "a user"}: each command does what it says`;
}

async function takeJourney({ major, isRoot }: Seat): Promise<void> {
  if ("missing" in debian) return;
  const who = isRoot ? "root" : "a user";
  const newcomer = await seatNewcomer(debian, { major, isRoot });
  const transcript = new Transcript();
  try {
    const [demo, answer] = await typeJourney(newcomer, transcript, isRoot);
    console.log(`Node ${major}, ${who}: the demo ${words(demo)}; an agent's answer in a project ${words(answer)}`);
  } finally {
    await transcript.write(`node${major}-${isRoot ? "root" : "user"}`);
    await newcomer.close();
  }
}

function words({ seconds, processorSeconds }: Spent): string {
  return `after ${seconds.toFixed(0)} s (${processorSeconds.toFixed(0)} s of the processor)`;
}

/** @returns when the demo was over, and when an agent had answered in a project */
async function typeJourney(
  newcomer: Newcomer,
  transcript: Transcript,
  isRoot: boolean,
): Promise<readonly [Spent, Spent]> {
  const terminal = await newcomer.terminal();
  const spent: Spent[] = [];
  let session = "";
  async function type(command: string, step: Step | null, place?: string): Promise<string> {
    const outcome = step?.stays
      ? await (await newcomer.terminal()).begin(command, step.shows ?? /./)
      : await terminal.type(command, step?.keys);
    transcript.add(command, outcome, place);
    expect(outcome.exitCode, `${place ?? "first"}: ${command}\n${outcome.output}`).toBe(step?.exitCode ?? 0);
    if (step?.shows !== undefined) expect(outcome.output, command).toMatch(step.shows);
    if (/coding ask/.test(command)) session = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(outcome.output)?.[0] ?? session;
    return outcome.output;
  }
  async function note(): Promise<void> {
    const { output } = await terminal.type("times");
    const parts = [...(output.split("\n")[1] ?? "").matchAll(/(\d+)m([\d.]+)s/g)];
    const processorSeconds = parts.reduce(
      (sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds),
      0,
    );
    spent.push({ seconds: transcript.seconds, processorSeconds });
  }
  await type(`git clone ${newcomer.mirror} && cd postern`, null);
  // The demo would install 1.1 GB; the computer has them already.
  await type(`ln -s ${newcomer.agents} test/agents/node_modules`, null);
  for (const { text, place } of journey()) {
    const step = steps.find(({ command }) => command.test(text)) ?? null;
    const first = [...(step?.first ?? []), ...(isRoot ? [] : (step?.firstAsUser ?? []))];
    for (const command of first) await type(command, null);
    const output = await type(text.replaceAll("<id>", session), step, place);
    const isFirstAnswer = spent.length === 1 && output.includes("ECHO");
    if (/npm run demo/.test(text) || isFirstAnswer) await note();
  }
  const [demo, answer] = spent;
  if (demo === undefined || answer === undefined) throw new Error("No agent answered.");
  return [demo, answer];
}
