import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { newUuid } from "../../src/core/ids.ts";
import { silentLog } from "../../src/core/log.ts";
import type { NewWorktree } from "../../src/worktrees/worktree-deps.ts";
import { createWorktrees, type Worktrees, type WorktreesOptions } from "../../src/worktrees/worktrees.ts";
import { openSqliteTestStore, type TestStore } from "./database.ts";
import { makeTestFolder } from "./test-folder.ts";

const run = promisify(execFile);

/** A repository, and the module that creates worktrees next to it. */
export interface WorktreeWorld {
  /** Holds the repository and its siblings. */
  readonly root: string;
  /** The main checkout: `README.md`, `src/main.c`, `run.sh` (executable) and `link` on `main`. */
  readonly repository: string;
  readonly store: TestStore;
  readonly worktrees: Worktrees;
  /** As a gateway that starts later on the same state. */
  again(options?: Partial<WorktreesOptions>): Worktrees;
  /** Makes a worktree from `main`, and says which session it is for. */
  make(branch: string, wanted?: Partial<NewWorktree>): Promise<{ readonly sessionId: string; readonly dir: string }>;
  /** Makes another repository with the same files next to the first. @returns its path */
  addRepository(name: string): Promise<string>;
  /** Runs git in the main checkout. */
  git(...args: readonly string[]): Promise<string>;
}

/** Git as a person runs it, with nothing of this machine's configuration. */
export async function gitIn(dir: string, ...args: readonly string[]): Promise<string> {
  const identity = [
    "-c",
    "user.name=Test",
    "-c",
    "user.email=test@example.invalid",
    "-c",
    "protocol.file.allow=always",
  ];
  const env = {
    PATH: process.env["PATH"] ?? "",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
    LC_ALL: "C",
  };
  return (await run("git", ["-C", dir, ...identity, ...args], { env, maxBuffer: 64 * 1024 * 1024 })).stdout;
}

/** @param name of the repository's folder */
export async function createWorktreeWorld(name = "project"): Promise<WorktreeWorld> {
  const root = makeTestFolder("worktrees");
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const home = join(root, "state of postern");
  const repository = join(root, name);
  await makeRepository(repository);
  const store = await openSqliteTestStore();
  const again = (options: Partial<WorktreesOptions> = {}): Worktrees =>
    createWorktrees({
      db: store.db,
      clock: systemClock,
      log: silentLog,
      nodeId: "local",
      home,
      pathVariable: process.env["PATH"] ?? "",
      worktreeNameFor: async () => "{branch}",
      ...options,
    });
  const worktrees = again();
  return {
    root,
    repository,
    store,
    worktrees,
    again,
    async make(branch, wanted = {}) {
      const sessionId = wanted.sessionId ?? newUuid();
      const request = { sessionId, dir: repository, baseBranch: "main", branch, ...wanted };
      return { sessionId, dir: await worktrees.make(request, async () => true) };
    },
    async addRepository(added) {
      await makeRepository(join(root, added));
      return join(root, added);
    },
    git: (...args) => gitIn(repository, ...args),
  };
}

async function makeRepository(dir: string): Promise<void> {
  await mkdir(join(dir, "src"), { recursive: true });
  await writeFile(join(dir, "README.md"), "# Scratch\n");
  await writeFile(join(dir, "src", "main.c"), "int main(void) { return 0; }\n");
  await writeFile(join(dir, "run.sh"), "#!/bin/sh\n", { mode: 0o755 });
  await writeFile(join(dir, ".gitignore"), "*.log\nnode_modules/\n.env\n");
  await run("git", ["init", "--quiet", "--initial-branch=main", dir]);
  await run("ln", ["-s", "README.md", join(dir, "link")]);
  await gitIn(dir, "add", "--all");
  await gitIn(dir, "commit", "--quiet", "--message=Begin");
}
