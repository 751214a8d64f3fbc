import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Git, GitPlace } from "./git-command.ts";
import { readSmallFile } from "./regular-file.ts";

/** A temporary git dir that uses the objects of a repository. */
export type GitScratch = Awaited<ReturnType<typeof createGitScratch>>;

/** Settings that describe a repository's files and name no program. */
const lookSettings =
  /^core\.(autocrlf|eol|safecrlf|ignorecase|filemode|symlinks|precomposeunicode)$|^extensions\.objectformat$/;

const maxRulesBytes = 1024 * 1024;

/**
 * Creates a git dir in `folder` (which must not exist) with the repository's objects and none of its configuration, so that no filter,
 * hook or monitor runs. Files are read as in the repository, except that only its attributes for line endings and encodings apply. @param
 * raw ignores these too and reads files byte for byte
 */
export async function createGitScratch(
  git: Git,
  { commonDir, folder, raw = false }: { readonly commonDir: string; readonly folder: string; readonly raw?: boolean },
) {
  const close = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await fill(git, { commonDir, folder, raw });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    folder,
    /** With a separate index, which is empty at first. */
    at: (workTree: string): GitPlace & { readonly indexFile: string } => ({
      gitDir: folder,
      workTree,
      indexFile: join(folder, "index"),
      objectDir: join(commonDir, "objects"),
    }),
    close,
  };
}

async function fill(
  git: Git,
  { commonDir, folder, raw }: { readonly commonDir: string; readonly folder: string; readonly raw: boolean },
): Promise<void> {
  await mkdir(join(folder, "info"), { recursive: true, mode: 0o700 });
  for (const name of ["objects", "refs"]) await mkdir(join(folder, name), { mode: 0o700 });
  const attributes = await rulesOf(join(commonDir, "info", "attributes"));
  const off = raw ? "* -text -eol -ident -filter -working-tree-encoding\n" : "* -filter\n";
  await writeFile(join(folder, "info", "attributes"), `${attributes}\n${off}`);
  await writeFile(join(folder, "info", "exclude"), await rulesOf(join(commonDir, "info", "exclude")));
  await writeFile(join(folder, "HEAD"), "ref: refs/heads/none\n");
  await writeFile(join(folder, "config"), await configOf(git, commonDir));
}

async function configOf(git: Git, commonDir: string): Promise<string> {
  const listed = await git.must(["config", "--file", join(commonDir, "config"), "--no-includes", "--null", "--list"], {
    at: { gitDir: commonDir },
  });
  const lines = ["[core]", "protectNTFS = false", "protectHFS = false", "bare = false", "longpaths = true"];
  const extensions: string[] = [];
  for (const entry of listed.toString("utf8").split("\0")) {
    const [key = "", value = ""] = entry.split("\n", 2);
    const name = key.split(".")[1] ?? "";
    if (!lookSettings.test(key) || !/^[a-z0-9]*$/i.test(value)) continue;
    if (key.startsWith("core.")) lines.push(`${name} = ${value}`);
    else extensions.push(`${name} = ${value}`);
  }
  const version = extensions.length === 0 ? 0 : 1;
  return `${lines.join("\n")}\nrepositoryformatversion = ${version}\n${["[extensions]", ...extensions].join("\n")}\n`;
}

async function rulesOf(path: string): Promise<string> {
  const bytes = await readSmallFile(path, maxRulesBytes);
  if (bytes === "too_large") throw new Error(`${path} is larger than ${maxRulesBytes} bytes.`);
  return bytes === null ? "" : bytes.toString("utf8");
}
