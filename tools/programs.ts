import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

type Say = (sentence: string) => void;

/** A program that tests start, and the Debian package that brings it. */
interface Requirement {
  readonly program: string;
  readonly debianPackage: string;
  readonly why: string;
  /** The tests can run without it. */
  readonly optional?: true;
}

const machinePrograms: readonly Requirement[] = [
  { program: "debootstrap", debianPackage: "debootstrap", why: "it makes a clean Debian", optional: true },
  { program: "systemd-nspawn", debianPackage: "systemd-container", why: "it boots that Debian", optional: true },
];

const requirements: readonly Requirement[] = [
  { program: "git", debianPackage: "git", why: "tests use real repositories" },
  { program: "gh", debianPackage: "gh", why: "tests open pull requests on a stand-in for GitHub" },
  { program: "curl", debianPackage: "curl", why: "the tests run the documented commands" },
  { program: "openssl", debianPackage: "openssl", why: "the tests run the documented commands" },
  { program: "chromium", debianPackage: "chromium", why: "tests open the pages in a real browser" },
  {
    program: "chromium-headless-shell",
    debianPackage: "chromium-headless-shell",
    why: "the same browser without windows, in half the time",
    optional: true,
  },
  ...(process.platform === "linux"
    ? [
        { program: "ip", debianPackage: "iproute2", why: "it enables loopback in the tests' network namespace" },
        { program: "unshare", debianPackage: "util-linux", why: "tests run in a separate network namespace" },
        { program: "setpriv", debianPackage: "util-linux", why: "tests run without the namespace's privileges" },
        {
          program: "tini",
          debianPackage: "tini",
          why: "it is the first process of a container",
          optional: true,
        } as const,
      ]
    : []),
];

function isOnPath(program: string): boolean {
  const folders = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin", "/sbin"];
  return folders.some((folder) => folder !== "" && existsSync(join(folder, program)));
}

/** Installs missing programs if possible, and otherwise names them. @param options `bootsMachines`: also those of tests that boot a Debian */
export function ensurePrograms(options: { readonly bootsMachines: boolean; readonly say: Say }): void {
  const { bootsMachines, say } = options;
  const wantedPrograms = [...requirements, ...(bootsMachines && process.platform === "linux" ? machinePrograms : [])];
  const missing = wantedPrograms.filter(({ program }) => !isOnPath(program));
  if (missing.length === 0) return;
  for (const { program, why } of missing) say(`\`${program}\` is missing: ${why}.`);
  const needed = packagesOf(missing.filter(({ optional }) => !optional));
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) {
    if (needed.length === 0) return;
    throw new Error(`Install these first: ${needed.join(", ")} (Debian packages).`);
  }
  if (needed.length > 0) install(needed, say);
  for (const wanted of packagesOf(missing.filter(({ optional }) => optional))) {
    try {
      install([wanted], say);
    } catch {
      say(`${wanted} cannot be installed; the tests continue without it.`);
    }
  }
}

function packagesOf(missing: readonly Requirement[]): readonly string[] {
  return [...new Set(missing.map(({ debianPackage }) => debianPackage))];
}

function install(packages: readonly string[], say: Say): void {
  say(`Installing with apt-get: ${packages.join(", ")} …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  execFileSync("apt-get", ["update", "-qq"], { stdio: "inherit", env });
  execFileSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages], {
    stdio: "inherit",
    env,
  });
}
