import { mkdir, realpath, symlink } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { isExecutableFile } from "../../platform/executables.ts";
import type { Environment } from "../template.ts";

const targets: Readonly<Record<string, readonly [packageName: string, triple: string]>> = {
  "linux-x64": ["codex-linux-x64", "x86_64-unknown-linux-musl"],
  "linux-arm64": ["codex-linux-arm64", "aarch64-unknown-linux-musl"],
  "darwin-x64": ["codex-darwin-x64", "x86_64-apple-darwin"],
  "darwin-arm64": ["codex-darwin-arm64", "aarch64-apple-darwin"],
};

/**
 * The native program behind npm's `codex`, with the variables that npm's start script would set. The script needs a `node` on
 * the agent's PATH, and under an older Node it stays as a parent in between. Any other `codex` is taken as it is.
 */
export async function nativeCodex(binary: string): Promise<{ readonly binary: string; readonly env: Environment }> {
  const script = await realpath(binary).catch(() => binary); // gone: told by who starts it
  const target = targets[`${process.platform}-${process.arch}`];
  if (!script.endsWith("/@openai/codex/bin/codex.js") || target === undefined) return { binary, env: {} };
  const [packageName, triple] = target;
  const packageRoot = dirname(dirname(script));
  const places = [
    join(packageRoot, "..", packageName, "vendor"),
    join(packageRoot, "node_modules", "@openai", packageName, "vendor"),
    join(packageRoot, "vendor"),
  ];
  for (const vendor of places) {
    const native = join(vendor, triple, "bin", "codex");
    if (await isExecutableFile(native)) {
      return { binary: native, env: { CODEX_MANAGED_PACKAGE_ROOT: packageRoot, CODEX_MANAGED_BY_NPM: "1" } };
    }
  }
  return { binary, env: {} };
}

/** The names by which Codex's program acts as one of its helpers (0.156 to 0.169). */
const helperNames = ["codex-linux-sandbox", "apply_patch", "applypatch"];

/**
 * Links to Codex's program by the names of its helpers, in a folder at the end of its PATH. Each start of Codex makes such links in a folder
 * below CODEX_HOME, and removes the folders of others that hold no lock. Between two starts at the same moment, one can lose its folder
 * before it has locked it; it prints a warning, and bubblewrap (before 0.9) then looks for the helper on PATH. Codex also makes none in a
 * home below the temporary folder.
 *
 * @param native the program itself
 * @param folder is created
 * @returns the variable
 */
export async function helpersOnPath(native: string, folder: string, env: Environment): Promise<Environment> {
  await mkdir(folder);
  await Promise.all(helperNames.map((name) => symlink(native, join(folder, name))));
  return { PATH: [env["PATH"], folder].filter(Boolean).join(delimiter) };
}

/**
 * For a Codex that only answers a question. It makes and removes no helpers in a home below its temporary folder, so it takes none away
 * from a Codex that starts at the same moment.
 */
export const withoutHelpers: Environment = { TMPDIR: "/" };
