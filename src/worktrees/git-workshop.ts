import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import { createGit, type Git, GitError, type GitPlace } from "../platform/git-command.ts";
import type { EnvironmentMarker } from "../platform/processes.ts";

/** Git, and room for its scratch folders in the state folder: swept, with what still runs in it, at the start of the next gateway. */
export interface GitWorkshop {
  readonly git: Git;
  readonly root: string;
  /** Marks what git started here. */
  readonly marker: EnvironmentMarker;
  /** A new name in it. */
  scratchFolder(): string;
}

/** @param options `home` is the state folder, `pathVariable` is where git is looked for */
export function createGitWorkshop({
  home,
  pathVariable,
}: {
  readonly home: string;
  readonly pathVariable: string;
}): GitWorkshop {
  const root = join(home, "worktrees");
  const marker = { name: "POSTERN_GIT", value: root };
  return { git: createGit({ pathVariable, marker }), root, marker, scratchFolder: () => join(root, newUuid()) };
}

/** Git that reads a repository's objects, and writes new ones where its place says. */
interface OwnObjects extends Git {
  /** The id of a tree without files. */
  emptyTree(at: GitPlace): Promise<string>;
}

export function ownObjects(git: Git, commonDir: string): OwnObjects {
  const quoted = [...Buffer.from(join(commonDir, "objects"))].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`);
  const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: `"${quoted.join("")}"` };
  const run: Git["run"] = (args, options) => git.run(args, { ...options, env: { ...options.env, ...env } });
  const must: Git["must"] = (args, options) => git.must(args, { ...options, env: { ...options.env, ...env } });
  return {
    run,
    must,
    async emptyTree(at) {
      return (await must(["hash-object", "-w", "-t", "tree", "--stdin"], { at })).toString("latin1").trim();
    },
  };
}

/** Git whose commands all end by one moment. */
export interface DeadlineGit extends Git {
  isOver(): boolean;
}

/** `git`, until `withinMs` from now. */
export function gitUntil(
  git: Git,
  { clock, withinMs }: { readonly clock: Clock; readonly withinMs: number },
): DeadlineGit {
  const until = clock.now() + withinMs;
  const leftMs = (): number => until - clock.now();
  async function run(args: Parameters<Git["run"]>[0], options: Parameters<Git["run"]>[1]): ReturnType<Git["run"]> {
    const timeoutMs = Math.min(leftMs(), options.timeoutMs ?? withinMs);
    if (timeoutMs <= 0) return { exitCode: null, stdout: Buffer.alloc(0), stderr: "There is no time left." };
    return git.run(args, { ...options, timeoutMs });
  }
  return {
    run,
    async must(args, options) {
      const result = await run(args, options);
      if (result.exitCode !== 0) throw new GitError(args, result);
      return result.stdout;
    },
    isOver: () => leftMs() <= 0,
  };
}
