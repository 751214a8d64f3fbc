import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { commandLines, isShim } from "../../test/support/shell-lines.ts";
import {
  type LineReport,
  type ShellName,
  sandboxProblem,
  shellPath,
  shells,
  tryLines,
  type Way,
} from "../../test/support/shell-sandbox.ts";
import { parseCommandLine, type SimpleCommand } from "./command-line.ts";
import { evaluate, type Rule, withoutOwnDir } from "./evaluate.ts";

/** 10,000 lines take some minutes: `POSTERN_SHELL_LINES=10000 npx vitest run --project unit src/permissions/real-shells.test.ts`. */
const count = Number(process.env["POSTERN_SHELL_LINES"] ?? 1_500);
const seed = Number(process.env["POSTERN_SHELL_SEED"] ?? 16);

const dir = "/code/app";
/** Builtins that the evaluator treats as programs. They run nothing, write no file, and read no argument as code. */
const harmless = ["echo", "true", "false", "pwd", ":"];

const problem = sandboxProblem();
const own = ["bash", "zsh", "dash"] as const;
const missing = own.filter((name) => shellPath(name) === null);

function commandsOf(line: string): readonly SimpleCommand[] | null {
  return parseCommandLine(withoutOwnDir(line, dir)).commands;
}

/** With 1, all parts of `a || b` run; with 0, all of `a && b`. */
function exitFor(line: string): 0 | 1 {
  return line.includes("||") ? 1 : 0;
}

/** What else a shell did besides running the commands; null for nothing. */
function difference(line: string, commands: readonly SimpleCommand[], report: LineReport): string | null {
  const { calls, changed, output } = report;
  if (changed.length > 0) return `it changed ${changed.join(", ")}`;
  const elsewhere = calls.find(([, cwd]) => cwd !== dir);
  if (elsewhere !== undefined) return `it ran ${elsewhere.join(" ")}`;
  const ran = calls.map(([program = "", , ...args]) => JSON.stringify([program, ...args])).toSorted();
  const traced = commands.filter(([program]) => isShim(program));
  const expected = traced
    .map(([program, ...args]) => JSON.stringify([program.replace("/shims/", ""), ...args]))
    .toSorted();
  const left = [...expected];
  for (const call of ran) {
    const at = left.indexOf(call);
    if (at === -1) return `it ran ${call}`;
    left.splice(at, 1);
  }
  const untraced = commands.length > traced.length;
  // The exit statuses decide which parts run.
  const allRun = !untraced && !(line.includes("||") && line.includes("&&"));
  if (allRun && left.length > 0) return `it did not run ${left.join(", ")}`;
  const prints = commands.some(([program]) => ["echo", "pwd"].includes(program));
  const failed = /not found|no such file|permission denied|is a directory/i;
  if (output === "" || prints || (untraced && failed.test(output))) return null;
  return `it printed ${JSON.stringify(output)}`;
}

async function disagreements(name: ShellName, way: Way, lines: readonly string[]): Promise<readonly string[]> {
  const tried = lines.map((line) => ({ line, exit: exitFor(line) }));
  const reports = await tryLines(name, way, tried);
  return lines.flatMap((line, index) => {
    const report = reports[index];
    const found = report === undefined ? "no report" : difference(line, commandsOf(line) ?? [], report);
    return found === null ? [] : [`${name}, ${way}: ${JSON.stringify(line)}: ${found}`];
  });
}

const why = problem === null ? "" : ` (skipped: ${problem})`;

describe.skipIf(problem !== null)(`compared with real shells${why}`, () => {
  const lines = commandLines(count, seed);
  const split = lines.filter((line) => commandsOf(line) !== null);
  const ways = Object.keys(shells).flatMap((name) => {
    const known = Object.keys(shells).find((one): one is ShellName => one === name);
    return known === undefined
      ? []
      : ([
          { name: known, way: "eval" },
          { name: known, way: "process" },
        ] satisfies { name: ShellName; way: Way }[]);
  });

  test("enough lines are split, and enough are refused", () => {
    expect(lines).toHaveLength(count);
    expect(split.length).toBeGreaterThan(count / 5);
    expect(split.length).toBeLessThan(count / 1.5);
  });

  test.for(ways)(
    "$name runs exactly the commands of a line, by $way",
    { timeout: 900_000 },
    async ({ name, way }, { skip }) => {
      if (shellPath(name) === null) skip(`${shells[name][0]} is not installed`);
      // Not one process for each command, which is slower and differs only in how the shell is started.
      const some = way === "process" ? split.slice(0, Math.max(5, count / 200)) : split;
      const asStarted = own.some((one) => one === name) || count > 5_000;
      const mine = asStarted ? some : some.filter((_, index) => index % 2 === 0);
      expect(await disagreements(name, way, mine)).toEqual([]);
    },
  );

  test("a line that a rule answers runs only what the rule covers", () => {
    const rules = ["git status", "ls", "npm"].map((pattern): Rule => {
      const base = { agent: null, sessionId: null, dir, undriven: false, expiresAt: null } as const;
      return { ...base, ruleId: pattern, effect: "allow", tool: "command", pattern };
    });
    const covered = lines.filter((line) => {
      const action = { tool: "command", line } as const;
      const asked = { agent: "codex", sessionIds: ["s"], undriven: false, dir, counted: dir, action };
      return evaluate(rules, asked, 0)?.effect === "allow";
    });
    expect(covered.length).toBeGreaterThan(0);
    for (const line of covered) {
      expect(split).toContain(line);
      for (const command of commandsOf(line) ?? []) expect(command.join(" ")).toMatch(/^(git status|ls|npm)( |$)/);
    }
  });

  test("the sandbox shows what lines do that are not plain", { timeout: 120_000 }, async () => {
    const ran = async (name: ShellName, line: string) => (await tryLines(name, "eval", [{ line, exit: 0 }]))[0];
    const words = async (name: ShellName, line: string) =>
      (await ran(name, line))?.calls.map(([program, , ...args]) => [program, ...args]);
    expect(await ran("bash", "git >new")).toMatchObject({ changed: expect.arrayContaining(["/code/app/new 0"]) });
    expect(await ran("dash", "git >/dev/nullx")).toMatchObject({ changed: [expect.stringContaining("/dev/nullx")] });
    expect(await words("bash", "git status a*")).toEqual([["git", "status", "a1"]]);
    expect(await words("bash", "git $(id)")).toEqual([["id"], ["git"]]);
    expect(await words("dash", "cd src; git")).toEqual([["git"]]);
    expect(await ran("dash", "cd src; git")).toMatchObject({ calls: [["git", "/code/app/src"]] });
    if (missing.includes("zsh")) return;
    expect(await words("zsh", "git =id")).toEqual([["git", "/shims/id"]]);
    expect(await words("zsh", "git; >/dev/null")).toEqual([["git"], ["cat"]]);
    expect(await words("zsh", "git a1(e:id:)")).toContainEqual(["id"]);
  });
});

/** Names that have a meaning in a shell, including all modules of zsh. */
const listings = {
  bash: ["-c", "compgen -bk"],
  zsh: [
    "-f",
    "-c",
    "for m in /usr/lib/*/zsh/*/zsh/**/*.so(N) /usr/lib/zsh/*/zsh/**/*.so(N); do zmodload zsh/${${m#*/zsh/*/zsh/}%.so} >/dev/null 2>&1; done; " +
      "print -l ${(k)builtins} ${(k)reswords}",
  ],
} as const;
/** In modules that are loaded only by the user's settings. They do the same as the programs with these names. */
const likePrograms = "chgrp chmod chown ln mkdir mv rm rmdir sync stat clone cap getcap setcap example".split(" ");

test.for(["bash", "zsh"] as const)(
  "%s's own words are no programs, but for a few that do nothing",
  (name, { skip }) => {
    if (shellPath(name) === null) skip(`${name} is not installed`);
    const { stdout } = spawnSync(shellPath(name) ?? "", listings[name], { encoding: "utf8" });
    const found = stdout.trim().split("\n");
    expect(found.length).toBeGreaterThan(60);
    const programs = found.filter((word) => parseCommandLine(`${word} x`).commands !== null);
    expect(programs.filter((word) => !harmless.includes(word) && !likePrograms.includes(word))).toEqual([]);
  },
);
