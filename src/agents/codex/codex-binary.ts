import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
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
