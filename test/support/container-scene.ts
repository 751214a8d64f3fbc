import { execFileSync } from "node:child_process";
import { chownSync, existsSync, globSync } from "node:fs";
import { mkdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import {
  type Bind,
  type BootedContainer,
  baseEnv,
  bootContained,
  type ContainedEnd,
  type ContainedProgram,
  type ContainedRoot,
  ended,
  posternUser,
  rootUser,
  spawnContained,
} from "../../tools/contained.ts";
import { type ImageConfig, imageConfig, parseDockerfile } from "../../tools/dockerfile.ts";
import { installPackage } from "./postern-process.ts";
import { makeTestFolder } from "./test-folder.ts";

const repository = resolve(import.meta.dirname, "../..");

/** A root folder as the image's, put together from what this machine has, and two empty volumes. */
export interface ContainerScene {
  readonly image: ImageConfig;
  /** What the volume of the home holds, seen from outside. */
  readonly home: string;
  /** The same of the repositories' volume. */
  readonly code: string;
  /** What the container finds as `/run/secrets/<name>`. */
  writeSecret(name: string, text: string): Promise<void>;
  /** Boots a container as `compose.yaml` does: without privileges, its root read-only. Resolves when it listens, or has ended. */
  boot(env: Readonly<Record<string, string>>): Promise<BootedContainer>;
  /** Runs one program in a separate container. */
  run(argv: readonly [string, ...string[]], env?: Readonly<Record<string, string>>): Promise<ContainedEnd>;
  close(): Promise<void>;
}

/** Builds the package, without pages, and lays the root. */
export async function makeContainerScene(): Promise<ContainerScene> {
  const stage = parseDockerfile(await readFile(join(repository, "Dockerfile"), "utf8")).at(-1);
  if (stage === undefined) throw new Error("The Dockerfile has no stage.");
  const image = imageConfig(stage, baseEnv);
  const scratch = makeTestFolder("container");
  const volumes = { home: join(scratch, "home"), code: join(scratch, "code") };
  for (const folder of Object.values(volumes)) {
    await mkdir(folder, { mode: 0o700 });
    chownSync(folder, posternUser.uid, posternUser.gid);
  }
  const secrets = join(scratch, "secrets");
  await mkdir(secrets);
  await installPackage(join(scratch, "package"));
  const root = await layRoot(scratch, { volumes, image });

  const program = (argv: readonly [string, ...string[]], env: Readonly<Record<string, string>>): ContainedProgram => ({
    argv,
    env: { ...image.env, ...env },
    user: posternUser,
    workdir: image.workdir,
  });
  const linked = spawnContained(root, {
    argv: ["sh", "/opt/postern/container/link-programs.sh"],
    env: image.env,
    user: rootUser,
    workdir: "/",
  });
  const { code, stderr } = await ended(linked);
  if (code !== 0) throw new Error(`No root could be made: ${stderr}`);
  const running = new Set<() => Promise<unknown>>();
  return {
    image,
    ...volumes,
    writeSecret: (name, text) => writeFile(join(secrets, name), text, { mode: 0o444 }),
    async boot(env) {
      const [first = "", ...rest] = [...image.entrypoint, ...image.cmd];
      const booted = await bootContained(root, program([first, ...rest], env));
      running.add(booted.kill);
      return booted;
    },
    run: (argv, env = {}) => ended(spawnContained(root, program(argv, env))),
    async close() {
      for (const kill of running) await kill();
      await rm(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

/** The folders of a root: the system's from this machine, Postern's as the Dockerfile puts them. */
async function layRoot(
  scratch: string,
  {
    volumes,
    image,
  }: { readonly volumes: { readonly home: string; readonly code: string }; readonly image: ImageConfig },
): Promise<ContainedRoot> {
  const path = join(scratch, "root");
  const [home = "", code = ""] = image.volumes;
  const agents = join(repository, "test/agents/node_modules");
  const readOnly = (from: string, to: string): Bind => ({ from, to, readOnly: true });
  const localBin = join(scratch, "local-bin");
  const binds: readonly Bind[] = [
    readOnly("/usr", "/usr"),
    { from: localBin, to: "/usr/local/bin", readOnly: false },
    ...["/etc/alternatives", "/etc/ssl"].filter((each) => existsSync(each)).map((each) => readOnly(each, each)),
    readOnly(dirname(process.execPath), "/opt/node"),
    readOnly(join(agents, "@anthropic-ai"), "/opt/agents/@anthropic-ai"),
    readOnly(join(agents, "@openai"), "/opt/agents/@openai"),
    readOnly(join(scratch, "package/dist"), "/opt/postern/dist"),
    readOnly(join(scratch, "secrets"), "/run/secrets"),
    ...["bin", "container", "node_modules"].map((name) => readOnly(join(repository, name), `/opt/postern/${name}`)),
    { from: volumes.home, to: home, readOnly: false },
    { from: volumes.code, to: code, readOnly: false },
  ];
  for (const { to } of binds) await mkdir(join(path, to), { recursive: true });
  for (const name of ["etc", "proc", "dev", "tmp"]) await mkdir(join(path, name), { recursive: true });
  // Links into /usr, or real folders on older systems.
  for (const name of globSync("{bin,sbin,lib*}", { cwd: "/" })) {
    await symlink(await readlink(join("/", name)), join(path, name));
  }
  await writeFile(join(path, "opt/postern/package.json"), await readFile(join(repository, "package.json")));
  await writeFile(join(path, "etc/passwd"), `root:x:0:0::/root:/bin/sh\npostern:x:1000:1000::${home}:/bin/bash\n`);
  await writeFile(join(path, "etc/group"), "root:x:0:\npostern:x:1000:\n");
  await writeFile(join(path, "etc/hosts"), "127.0.0.1 localhost\n::1 localhost\n");
  await mkdir(localBin);
  await symlink("/opt/node/node", join(localBin, "node"));
  if (!existsSync("/usr/bin/tini")) await writeFile(join(localBin, "tini"), initInTheStead, { mode: 0o755 });
  return { path, binds, writable: false };
}

/** For machines without tini: passes signals on and reaps orphans, as `bash` does while it waits. */
const initInTheStead = `#!/bin/bash
shift
"$@" &
program=$!
trap 'kill -TERM $program' TERM
wait $program
code=$?
while kill -0 $program 2>/dev/null; do wait $program; code=$?; done
exit $code
`;

/** A git repository with one commit in the repositories' volume, of the container's user. @returns its path in the container */
export async function makeContainerRepository({ code, image }: ContainerScene): Promise<string> {
  const dir = join(code, "project");
  await mkdir(dir);
  await writeFile(join(dir, "README.md"), "# Scratch\n");
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
  execFileSync("git", ["init", "--quiet", "--initial-branch=main", dir]);
  execFileSync("git", ["-C", dir, "add", "README.md"]);
  execFileSync("git", ["-C", dir, ...identity, "commit", "--quiet", "--message=Begin"]);
  execFileSync("chown", ["-R", `${posternUser.uid}:${posternUser.gid}`, dir]);
  return `${image.workdir}/project`;
}
