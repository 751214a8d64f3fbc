import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { WorktreeWorld } from "./worktree-world.ts";

/**
 * Makes of the world's repository one in which everything that can name a program names one that leaves a mark.
 * @returns the marks that were left so far
 */
export async function plantPrograms(world: WorktreeWorld): Promise<() => Promise<readonly string[]>> {
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
