import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findExecutable } from "../../src/platform/executables.ts";
import { installAgents } from "../../tools/install-agents.ts";
import { installTarball } from "../../tools/package-install.ts";
import { type FinishedProcess, type ServingProcess, servePostern } from "./postern-process.ts";

/** Postern as npm installed it from its tarball, in an otherwise empty folder. */
export interface PackagedPostern {
  /** The folder that npm installed into. */
  readonly folder: string;
  /** The command, as npm links it. */
  readonly command: string;
  /** All of PATH: one folder of links to Node, a shell, git and Codex. */
  readonly path: string;
  /** `npm install` of another tarball, over this one. */
  install(tarball: string): Promise<void>;
  /** Runs the command to the end, through its own `#!` line. */
  run(argv: readonly string[], env: Readonly<Record<string, string>>): Promise<FinishedProcess>;
  serve(env: Readonly<Record<string, string>>, options?: { readonly port: number }): Promise<ServingProcess>;
}

/** Everything that a user needs besides Postern: no compiler, no Python. */
const programs = ["sh", "git"] as const;

/**
 * Installs the tarball with this Node, where nothing else is on PATH. No registry is asked.
 * @param root an existing folder, for what is installed and for the links
 */
export async function installPackaged(
  root: string,
  { tarball, node }: { readonly tarball: string; readonly node: string },
): Promise<PackagedPostern> {
  const path = join(root, "bin");
  const folder = join(root, "installed");
  for (const one of [path, folder]) await mkdir(one);
  const { codex } = await installAgents(() => undefined);
  const links: Record<string, string> = { node, codex };
  for (const name of programs) links[name] = (await findExecutable(name, process.env["PATH"] ?? "")) ?? name;
  for (const [name, target] of Object.entries(links)) await symlink(target, join(path, name));
  // Without one, npm looks for a project in the folders above.
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "empty", private: true }));
  const install = (from: string): Promise<void> => installTarball(from, { folder, node, path });
  await install(tarball);
  const command = join(folder, "node_modules", ".bin", "postern");
  return {
    folder,
    command,
    path,
    install,
    run: (argv, env) =>
      new Promise((done) => {
        const child = execFile(command, argv, { env, cwd: root, timeout: 60_000 }, (_error, stdout, stderr) => {
          done({ code: child.exitCode, stdout, stderr });
        });
      }),
    serve: (env, { port = 0 } = { port: 0 }) => servePostern({ ...env }, { command: [command], port }),
  };
}
