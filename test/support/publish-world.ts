import { execFile } from "node:child_process";
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import type { PublishPlace, PublishPorts } from "../../src/publish/ports.ts";
import { createPublish, type Publish } from "../../src/publish/publish.ts";
import type { Caller } from "../../src/wire/caller.ts";
import { makeTestFolder } from "./test-folder.ts";

const run = promisify(execFile);

export const owner: Caller = { accountId: "owner", scopes: new Set(["coding:publish"]), folders: null };

/** A checkout of a bare remote on the branch `feature`, whose worktree Postern made from `main`; and the module that publishes it. */
export interface PublishWorld {
  readonly root: string;
  readonly dir: string;
  readonly remote: string;
  readonly publish: Publish;
  /** The environment of the user's git. */
  readonly env: Record<string, string>;
  readonly notes: Parameters<PublishPorts["note"]>[0][];
  /** Whether an agent works there. */
  readonly agent: { working: boolean };
  /** Runs git in the checkout, as the user. */
  git(...args: readonly string[]): Promise<string>;
  /** The same, elsewhere. */
  gitIn(dir: string, ...args: readonly string[]): Promise<string>;
  write(path: string, text: string | Buffer): Promise<void>;
  /** A hook of the checkout. */
  hook(name: string, script: string): Promise<void>;
  /** Commits a file on the remote's `main`, as another person does. */
  pushToMain(files: Readonly<Record<string, string>>): Promise<void>;
}

/** @param options `pathVariable`: where the gateway finds programs, instead of the tests' own PATH */
export async function createPublishWorld(options: { readonly pathVariable?: string } = {}): Promise<PublishWorld> {
  const root = makeTestFolder("publish");
  onTestFinished(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
  const dir = join(root, "project");
  const remote = join(root, "remote.git");
  const other = join(root, "other");
  const env: Record<string, string> = { PATH: process.env["PATH"] ?? "", HOME: root, GIT_CONFIG_NOSYSTEM: "1" };
  await writeFile(
    join(root, ".gitconfig"),
    '[user]\n\tname = Test\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n',
  );
  const gitIn = async (place: string, ...args: readonly string[]) =>
    (await run("git", ["-C", place, ...args], { env, maxBuffer: 64 * 1024 * 1024 })).stdout;
  await run("git", ["init", "--quiet", "--bare", remote], { env });
  await run("git", ["clone", "--quiet", remote, other], { env });
  await writeFile(join(other, "README.md"), "# Scratch\n");
  await mkdir(join(other, "src"));
  await writeFile(join(other, "src", "a.txt"), Array.from({ length: 30 }, (_, at) => `line ${at + 1}\n`).join(""));
  await gitIn(other, "add", "--all");
  await gitIn(other, "commit", "--quiet", "--message=Begin");
  await gitIn(other, "push", "--quiet", "origin", "main");
  await run("git", ["clone", "--quiet", remote, dir], { env });
  await gitIn(dir, "switch", "--quiet", "--create", "feature");

  const agent = { working: false };
  const notes: Parameters<PublishPorts["note"]>[0][] = [];
  const gitDir = join(dir, ".git");
  const worktree = { path: dir, gitDir, commonDir: gitDir, repository: dir, branch: "feature", baseBranch: "main" };
  const place: PublishPlace = { sessionId: "s1", dir, worktree };
  const publish = createPublish({
    pathVariable: options.pathVariable ?? env["PATH"] ?? "",
    environment: () => env,
    ports: {
      placeOf: async () => place,
      mayUse: async (dirs, { folders }) => folders === null || dirs.every((one) => folders.includes(one)),
      isAgentWorking: () => agent.working,
      note: async (entry) => void notes.push(entry),
    },
  });
  return {
    root,
    dir,
    remote,
    publish,
    env,
    notes,
    agent,
    gitIn,
    git: (...args) => gitIn(dir, ...args),
    async write(path, text) {
      await mkdir(join(dir, path, ".."), { recursive: true });
      await writeFile(join(dir, path), text);
    },
    async hook(name, script) {
      await writeFile(join(gitDir, "hooks", name), `#!/bin/sh\n${script}\n`);
      await chmod(join(gitDir, "hooks", name), 0o755);
    },
    async pushToMain(files) {
      for (const [path, text] of Object.entries(files)) await writeFile(join(other, path), text);
      await gitIn(other, "add", "--all");
      await gitIn(other, "commit", "--quiet", "--message=Elsewhere");
      await gitIn(other, "push", "--quiet", "origin", "main");
    },
  };
}
