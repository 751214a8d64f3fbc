import { mkdir, readdir, stat, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { newUuid } from "../../core/ids.ts";
import { writeFileAtomic } from "../../platform/files.ts";
import { tomlString } from "./toml.ts";

const profileLink = /^postern-[0-9a-f-]{36}\.config\.toml$/;

/**
 * Gives a launch its developer instructions in a file, where no other user can read them: an argument is visible to everyone in the list
 * of processes. Codex reads them from a profile, which it only looks for in its own folder (measured: 0.156.0 to 0.169.0). So the text
 * stays in the launch's folder and a link in Codex's folder leads to it. The profile is laid over `config.toml`, all else of which holds.
 *
 * @returns the arguments
 */
export async function instructionsArguments(
  instructions: string,
  { home, launchDir }: { readonly home: string; readonly launchDir: string },
): Promise<readonly string[]> {
  const file = join(launchDir, "instructions.config.toml");
  await writeFileAtomic(file, `developer_instructions=${tomlString(instructions)}\n`, { durable: false });
  await mkdir(home, { recursive: true, mode: 0o700 });
  await removeOldLinks(home);
  const name = `postern-${newUuid()}`;
  await symlink(file, join(home, `${name}.config.toml`));
  return [`--profile=${name}`];
}

/** The links of launches whose folder is gone. */
async function removeOldLinks(home: string): Promise<void> {
  const links = (await readdir(home)).filter((name) => profileLink.test(name)).map((name) => join(home, name));
  for (const link of links) {
    const isThere = await stat(link).then(
      () => true,
      () => false, // it leads nowhere, or another start removed it
    );
    if (!isThere) await unlink(link).catch(() => undefined); // the next start tries again
  }
}
