import { join } from "node:path";
import type { Git, GitPlace } from "../platform/git-command.ts";

/** Git that reads a repository's objects, and writes new ones where its place says. */
export interface OwnObjects extends Git {
  /** The id of a tree without files. */
  emptyTree(at: GitPlace): Promise<string>;
}

/** @see OwnObjects */
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
