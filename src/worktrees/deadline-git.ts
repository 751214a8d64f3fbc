import type { Clock } from "../core/clock.ts";
import { type Git, GitError } from "../platform/git-command.ts";

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
