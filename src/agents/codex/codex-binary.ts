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
 * The native program behind npm's `codex`, with the variables of npm's start script. The script needs `node` on the agent's PATH, and stays
 * as a parent process with older Node. Other programs are used as they are.
 */
export async function nativeCodex(binary: string): Promise<{ readonly binary: string; readonly env: Environment }> {
  const script = await realpath(binary).catch(() => binary); // if it is gone, the caller reports that
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

/** The names under which Codex's program acts as a helper (0.156 to 0.169). */
const helperNames = ["codex-linux-sandbox", "apply_patch", "applypatch"];

/**
 * Puts links to Codex's program, named like its helpers, in a folder at the end of PATH. Each start of Codex creates such links in a
 * folder below CODEX_HOME, and removes folders of other starts that hold no lock. Of two simultaneous starts, one can lose its folder
 * before locking it: Codex then prints a warning, and bubblewrap (before 0.9) looks for the helper on PATH. Codex also creates no links
 * if its home is below the temporary folder.
 * @param native the program itself
 * @param folder is created
 */
export async function helpersOnPath(native: string, folder: string, env: Environment): Promise<Environment> {
  await mkdir(folder);
  await Promise.all(helperNames.map((name) => symlink(native, join(folder, name))));
  return { PATH: [env["PATH"], folder].filter(Boolean).join(delimiter) };
}

/**
 * For a Codex process that only answers a query. With its home below its temporary folder, it neither creates nor removes links, so it removes
 * none that belong to a Codex that is starting.
 */
export const withoutHelpers: Environment = { TMPDIR: "/" };

/** 0.2 s on an idle machine. */
const probeTimeoutMs = 10_000;
const maxReasonCharacters = 300;

/**
 * Runs `:` in Codex's sandbox. On Linux that is bubblewrap with seccomp: the system's if it is on PATH and new enough, else the copy that comes
 * with Codex (0.156 to 0.169; no version falls back to Landlock). Uses the user's settings in a separate state folder: see {@link helpersOnPath}.
 * @returns why commands fail in it, or null
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
      // Codex does not use a bubblewrap that is below its working directory.
      cwd: dirname(native.binary),
      timeoutMs: probeTimeoutMs,
    });
    // Null means that the probe did not run or did not end, so nothing is known about the sandbox.
    return exitCode === 0 || exitCode === null ? null : explainSandbox(stderr, kernelSetting);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** @param kernel reads a setting below /proc/sys, or null */
export function explainSandbox(stderr: string, kernel: (name: string) => string | null): AgentProblem {
  const effect = "Commands fail in its sandbox, and it asks to run them outside";
  if (/bubblewrap is unavailable/.test(stderr)) {
    return {
      message: `${effect}: bubblewrap is not installed, and not included in this Codex.`,
      fix: "npm install --global @openai/codex",
    };
  }
  if (/new namespace|uid map|RTM_NEW|user namespace/i.test(stderr)) {
    return {
      message: `${effect}: this system does not allow user namespaces (${reasonOf(stderr)}).`,
      fix: namespaceFix(kernel),
    };
  }
  return { message: `Its sandbox does not start: ${reasonOf(stderr)}`, fix: null };
}

/** The fix for the most general kernel setting that prevents namespaces; null if none does, as in a container with its own rules. */
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
    return null; // this kernel does not have the setting
  }
}

/** The reason: after a panic, the line that follows its source location. */
function reasonOf(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.trim());
  const line = lines.find((text) => text !== "" && !/^(WARNING:|thread '|stack backtrace|note:)/.test(text));
  return (line ?? "no reason given").slice(0, maxReasonCharacters);
}
