import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { isExecutableFile } from "../../platform/executables.ts";
import { runCommand } from "../../platform/run-command.ts";
import type { AgentProblem, Environment } from "../template.ts";

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

/** It takes 0.2 s on a quiet machine. */
const probeTimeoutMs = 10_000;
const maxReasonCharacters = 300;

/**
 * Runs nothing in Codex's sandbox, as Codex runs a command. On Linux the sandbox is bubblewrap, with seccomp inside it: the system's one where
 * it is on PATH and new enough, else the one beside Codex's own program (0.156 to 0.169; none of them falls back to Landlock).
 *
 * It runs with the user's settings, but in a state folder of its own: see {@link helpersOnPath}.
 *
 * @returns why commands fail in it, null when they do not
 */
export async function checkCodexSandbox(
  binary: string,
  { env, home }: { readonly env: Environment; readonly home: string },
): Promise<AgentProblem | null> {
  if (process.platform !== "linux") return null;
  const native = await nativeCodex(binary);
  const folder = await mkdtemp(join(tmpdir(), "postern-codex-"));
  try {
    await symlink(join(home, "config.toml"), join(folder, "config.toml"));
    const helpers = await helpersOnPath(native.binary, join(folder, "helpers"), env);
    const argv = [native.binary, "sandbox", "-c", 'sandbox_mode="read-only"', "--", "/bin/sh", "-c", ":"] as const;
    const { exitCode, stderr } = await runCommand([...argv], {
      env: { ...env, ...native.env, ...helpers, CODEX_HOME: folder },
      // Codex uses no bubblewrap from below its working directory.
      cwd: dirname(native.binary),
      timeoutMs: probeTimeoutMs,
    });
    // A null is a probe that did not run or did not end, which says nothing about the sandbox.
    return exitCode === 0 || exitCode === null ? null : explainSandbox(stderr, kernelSetting);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** @param kernel reads a setting below /proc/sys, null where the kernel does not have it */
export function explainSandbox(stderr: string, kernel: (name: string) => string | null): AgentProblem {
  const effect = "Its commands fail in its sandbox, and it asks to run them outside it";
  if (/bubblewrap is unavailable/.test(stderr)) {
    return {
      message: `${effect}: bubblewrap is not installed, and this Codex does not bring it.`,
      fix: "npm install --global @openai/codex",
    };
  }
  if (/new namespace|uid map|RTM_NEW|user namespace/i.test(stderr)) {
    return {
      message: `${effect}: this system does not let it create user namespaces (${reasonOf(stderr)}).`,
      fix: namespaceFix(kernel),
    };
  }
  return { message: `Its sandbox does not start: ${reasonOf(stderr)}`, fix: null };
}

/** What stands in the way, most general first; null where no setting does, as in a container whose own rules refuse it. */
function namespaceFix(kernel: (name: string) => string | null): string | null {
  if (kernel("user/max_user_namespaces") === "0") return "sudo sysctl -w user.max_user_namespaces=15000";
  if (kernel("kernel/unprivileged_userns_clone") === "0") return "sudo sysctl -w kernel.unprivileged_userns_clone=1";
  if (kernel("kernel/apparmor_restrict_unprivileged_userns") === "1") {
    return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
  }
  return null;
}

function kernelSetting(name: string): string | null {
  try {
    return readFileSync(`/proc/sys/${name}`, "utf8").trim();
  } catch {
    return null; // this kernel does not have it
  }
}

/** The line that says it: of a panic that is the one after its place in the source. */
function reasonOf(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.trim());
  const line = lines.find((text) => text !== "" && !/^(WARNING:|thread '|stack backtrace|note:)/.test(text));
  return (line ?? "Codex gives no reason").slice(0, maxReasonCharacters);
}
