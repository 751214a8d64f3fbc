import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { whyNotContained } from "./contained.ts";
import { installDeadlineMs, runNpm } from "./npm.ts";
import { oneAtATime } from "./one-at-a-time.ts";

// `node tools/debian-root.ts`, as root: makes the Debian that tests boot or enter, once per machine. It needs Debian's and npm's servers.

/** As the container image has it. */
const release = "bookworm";
/** The packages of a small server: systemd with user managers, Git and curl. No Node, no compiler. */
const packages = [
  "systemd-sysv",
  "dbus",
  "dbus-user-session",
  "libpam-systemd",
  "ca-certificates",
  "curl",
  "git",
  "procps",
] as const;
/** The oldest Node with which the README's commands work, and the npm that comes with it. */
const oldNode = { node: "20.20.2", npm: "10.8.2" } as const;
/** The account of the person. */
export const person = { name: "jo", uid: 1000, gid: 1000 } as const;

const cache = resolve(import.meta.dirname, "..", ".cache", "debian");
const recipe = createHash("sha256")
  .update(JSON.stringify([release, packages, oldNode, person]))
  .digest("hex");
const made = join(cache, recipe.slice(0, 12));

/** Read only: a test puts its changes into another folder, see `overlay` in `contained.ts`. */
export interface DebianRoot {
  readonly path: string;
  readonly node20: { readonly node: string; readonly npm: string };
}

/** The root, or why there is none. */
export function debianRoot(): DebianRoot | { readonly missing: string } {
  const reason = whyNotContained();
  if (reason !== null) return { missing: reason };
  if (!existsSync(made)) return { missing: "there is no Debian root yet: run node tools/debian-root.ts" };
  const modules = join(made, "node20", "node_modules");
  const node = join(modules, `node-linux-${process.arch}`, "bin", "node");
  return { path: join(made, "root"), node20: { node, npm: join(modules, "npm") } };
}

/** Creates the root if it is missing, or reports why it cannot be created. @param say gets a sentence before each slow step */
export async function prepareDebianRoot(say: (sentence: string) => void): Promise<void> {
  if (existsSync(made)) return;
  const reason = whyNotContained() ?? whyNoDebootstrap();
  if (reason !== null) return say(`No Debian root: ${reason}.`);
  const onWait = (): void => say("Another process makes the Debian root; waiting for it …");
  await oneAtATime(join(cache, "make.lock"), { deadlineMs: installDeadlineMs, onWait }, async () => {
    if (existsSync(made)) return;
    say(`Making a root of Debian ${release} with debootstrap (about 500 MB on disk, once) …`);
    try {
      await make();
    } catch (error) {
      say(`No Debian root: ${error instanceof Error ? error.message : String(error)}`);
    }
  });
}

function whyNoDebootstrap(): string | null {
  const exists = ["/usr/sbin/debootstrap", "/sbin/debootstrap"].some((path) => existsSync(path));
  return exists ? null : "`debootstrap` is not installed";
}

async function make(): Promise<void> {
  const fresh = `${made}.new`;
  const root = join(fresh, "root");
  const modules = join(fresh, "node20");
  await rm(fresh, { recursive: true, force: true });
  await mkdir(modules, { recursive: true });
  await writeFile(join(modules, "package.json"), JSON.stringify({ name: "node20", private: true }));
  const old = [`npm@${oldNode.npm}`, `node-linux-${process.arch}@${oldNode.node}`];
  await runNpm(["install", "--no-package-lock", "--ignore-scripts", "--no-fund", "--no-audit", ...old], {
    cwd: modules,
  });
  const words = ["--variant=minbase", `--include=${packages.join(",")}`, release, root];
  execFileSync("debootstrap", words, { stdio: ["ignore", "ignore", "inherit"], timeout: installDeadlineMs });
  const useradd = ["useradd", "--uid", String(person.uid), "--create-home", "--shell", "/bin/bash", person.name];
  execFileSync("chroot", [root, ...useradd]);
  // A test mounts Node and npm.
  for (const name of ["npm", "npx"])
    await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(root, "usr/local/bin", name));
  for (const path of ["var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale", "usr/share/man"])
    await rm(join(root, path), { recursive: true, force: true });
  await rename(fresh, made);
}

if (process.argv[1] === import.meta.filename) {
  await prepareDebianRoot((sentence) => console.log(`· ${sentence}`));
  const root = debianRoot();
  console.log("path" in root ? root.path : root.missing);
  if (!("path" in root)) process.exitCode = 1;
}
