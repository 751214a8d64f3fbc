import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorktreeWorld, gitIn, type WorktreeWorld } from "../../../test/support/worktree-world.ts";

/** A repository in which everything that can name a program names one that leaves a mark. */
async function plant(world: WorktreeWorld): Promise<() => Promise<readonly string[]>> {
  const marks = join(world.root, "marks");
  await mkdir(marks);
  const script = join(world.root, "planted.sh");
  await writeFile(script, `#!/bin/sh\ntouch "${marks}/$1"\nexit 1\n`);
  await chmod(script, 0o755);
  const command = (name: string): string => `${script} ${name}`;
  const hooks = join(world.repository, ".git", "hooks");
  const names = [
    "post-checkout",
    "pre-commit",
    "reference-transaction",
    "post-index-change",
    "post-rewrite",
    "update",
    "fsmonitor-watchman",
  ];
  const settings: Readonly<Record<string, string>> = {
    "core.hooksPath": hooks,
    "core.fsmonitor": command("fsmonitor"),
    "core.sshCommand": command("ssh"),
    "core.pager": command("pager"),
    "core.editor": command("editor"),
    "core.askPass": command("askpass"),
    "core.gitProxy": command("proxy"),
    "core.alternateRefsCommand": command("alternates"),
    "core.attributesFile": join(world.root, "attributes"),
    "credential.helper": `!${command("credential")}`,
    "diff.external": command("diff"),
    "diff.planted.textconv": command("textconv"),
    "diff.planted.command": command("diffdriver"),
    "filter.planted.clean": command("clean"),
    "filter.planted.smudge": command("smudge"),
    "filter.planted.required": "true",
    "filter.process.process": command("process"),
    "merge.planted.driver": command("merge"),
    "gpg.program": command("gpg"),
    "commit.gpgSign": "true",
    "alias.worktree": `!${command("alias")}`,
    "alias.read-tree": `!${command("alias")}`,
    "remote.origin.url": `ext::${command("transport")}`,
    "remote.origin.promisor": "true",
    "extensions.partialClone": "origin",
    "protocol.ext.allow": "always",
    "uploadpack.packObjectsHook": command("pack"),
    "trailer.x.command": command("trailer"),
    "submodule.recurse": "true",
    "include.path": join(world.root, "included"),
  };
  await writeFile(
    join(world.root, "included"),
    `[filter "included"]\n\tsmudge = ${command("included")}\n[core]\n\tfsmonitor = ${command("includedmonitor")}\n`,
  );
  await writeFile(join(world.root, "attributes"), "* filter=planted diff=planted\n");
  await writeFile(
    join(world.repository, ".gitattributes"),
    "*.md filter=planted\n*.c filter=process\n*.sh filter=included diff=planted merge=planted\n",
  );
  await world.git("add", ".gitattributes");
  await world.git("commit", "--quiet", "-m", "attributes");
  for (const name of names) {
    await writeFile(join(hooks, name), `#!/bin/sh\ntouch "${marks}/hook-${name}"\n`, { mode: 0o755 });
  }
  await world.git("config", "core.repositoryFormatVersion", "1");
  for (const [key, value] of Object.entries(settings))
    await world.git("config", "--file", join(world.repository, ".git", "config"), key, value);
  return () => readdir(marks);
}

test("git runs nothing that a repository names: not when a worktree is made, closed, made anew, restored", async () => {
  const world = await createWorktreeWorld();
  const marks = await plant(world);
  await writeFile(join(world.repository, ".env"), "SECRET=1\n");
  await writeFile(join(world.repository, ".worktreeinclude"), ".env\n");
  const { dir, sessionId } = await world.make("b");
  expect(await readFile(join(dir, "README.md"), "utf8")).toBe("# Scratch\n");
  expect(await readFile(join(dir, ".env"), "utf8")).toBe("SECRET=1\n");
  await writeFile(join(dir, "README.md"), "changed\n");
  await writeFile(join(dir, "new.c"), "new\n");
  await writeFile(join(dir, "new.log"), "new\n");
  expect(await marks()).toEqual([]);
  const closed = await world.worktrees.close(sessionId, { discard: false });
  expect(closed).toMatchObject({ removed: true, rescue: { files: 2 } });
  expect(await marks()).toEqual([]);
  const record = await world.worktrees.ofSession(sessionId);
  if (record === null) throw new Error("no record");
  await world.worktrees.restore(record, { force: false });
  expect(await readFile(join(dir, "README.md"), "utf8")).toBe("changed\n");
  await world.again().reconcile(async () => true);
  expect(await marks()).toEqual([]);
  // The traps work: git as everybody runs it falls into them.
  await gitIn(world.repository, "status").catch(() => "");
  expect(await marks()).not.toEqual([]);
});

test("what a worktree's own files claim leads git nowhere: `.git`, and its entry in the repository", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  const evil = join(world.root, "evil");
  await mkdir(evil);
  await gitIn(evil, "init", "--quiet");
  const mark = join(world.root, "mark");
  await gitIn(evil, "config", "core.fsmonitor", `touch ${mark}; false`);
  await writeFile(join(evil, ".git", "hooks", "reference-transaction"), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 });
  const entry = join(world.repository, ".git", "worktrees", "b");
  await writeFile(join(dir, ".git"), `gitdir: ${evil}/.git\n`);
  await writeFile(join(entry, "commondir"), `${evil}/.git\n`);
  await writeFile(join(dir, "new"), "new\n");
  const stays = await world.worktrees.close(sessionId, { discard: false });
  expect(stays).toMatchObject({ removed: false, reason: expect.stringContaining("was changed") });
  await writeFile(join(entry, "commondir"), "../..\n");
  const closed = await world.worktrees.close(sessionId, { discard: false });
  expect(closed).toMatchObject({ removed: true, rescue: { files: 1 } });
  expect(await world.git("show", `refs/postern/rescue/${sessionId}:new`)).toBe("new\n");
  expect(existsSync(mark)).toBe(false);
  expect(await readdir(join(evil, ".git", "refs"))).toEqual(["heads", "tags"]);
});

test("the environment of the gateway does not reach git", async () => {
  const world = await createWorktreeWorld();
  const mark = join(world.root, "mark"); // a trace is written into it
  const planted = {
    GIT_TRACE: mark,
    GIT_OBJECT_DIRECTORY: join(world.root, "nowhere"),
    GIT_DIR: join(world.root, "nowhere"),
    GIT_EXTERNAL_DIFF: `touch ${mark}`,
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.fsmonitor",
    GIT_CONFIG_VALUE_0: `touch ${mark}; false`,
  };
  Object.assign(process.env, planted);
  try {
    const { dir, sessionId } = await world.make("b");
    await writeFile(join(dir, "new"), "new\n");
    expect(await world.worktrees.close(sessionId, { discard: false })).toMatchObject({
      removed: true,
      rescue: { files: 1 },
    });
  } finally {
    for (const name of Object.keys(planted)) delete process.env[name];
  }
  expect(existsSync(mark)).toBe(false);
});

test("a close of a folder full of links follows none", async () => {
  const world = await createWorktreeWorld();
  const { dir, sessionId } = await world.make("b");
  const outside = join(world.root, "outside");
  await mkdir(outside);
  await writeFile(join(outside, "precious"), "precious");
  const { symlink } = await import("node:fs/promises");
  await symlink(outside, join(dir, "out"));
  await symlink(".", join(dir, "round"));
  const closed = await world.worktrees.close(sessionId, { discard: false });
  expect(closed).toMatchObject({ removed: true, rescue: { files: 2 } });
  expect(await readFile(join(outside, "precious"), "utf8")).toBe("precious");
  expect(await world.git("ls-tree", "-r", "--name-only", closed?.rescue?.commit ?? "")).not.toContain("precious");
});
