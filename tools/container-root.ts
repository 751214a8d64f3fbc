import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startModelServer } from "../test/model-server/model-server.ts";
import {
  baseEnv,
  bootContained,
  type ContainedProgram,
  ended,
  posternUser,
  rootUser,
  spawnContained,
} from "./contained.ts";
import { type ImageConfig, imageConfig, parseDockerfile, type Stage } from "./dockerfile.ts";

// `node tools/container-root.ts <folder> [--boot]`, as root: makes the image's root folder without an engine, by the Dockerfile's own
// steps on a Debian of debootstrap, from what HEAD holds. `--boot` then boots it twice, with a session of each agent and the scripted
// model. `--resume` continues after the last successful step. Needs Debian's and npm's servers, about 4 GB and some minutes.

const repository = resolve(import.meta.dirname, "..");
const { values, positionals } = parseArgs({
  options: { boot: { type: "boolean" }, resume: { type: "boolean" } },
  allowPositionals: true,
});
const [given] = positionals;
if (given === undefined) throw new Error("Which folder? node tools/container-root.ts <folder> [--boot]");
const folder = resolve(given);
/** The certificate of a proxy between this machine and npm's servers. The steps need it; no stage keeps it. */
const ownAuthorities = process.env["NODE_EXTRA_CA_CERTS"] || undefined;
const authoritiesInside = "/run/own-authorities.pem";
const say = (words: string): void => console.log(`· ${words}`);

const stages = parseDockerfile(readFileSync(join(repository, "Dockerfile"), "utf8"));
const last = stages.at(-1);
if (last === undefined) throw new Error("The Dockerfile has no stage.");
const rootOf = (stage: Stage): string => join(folder, stage.name ?? "image");

const base = join(folder, "base");
if (!existsSync(join(base, "usr/local/bin/npm"))) makeBase(base);
const context = join(folder, "context");
makeContext(context);
for (const stage of stages) await build(stage);
if (values.boot) await boot(rootOf(last), imageConfig(last, baseEnv));

/** The contents of Node's Debian image: the system, Node, npm, and a user. */
function makeBase(root: string): void {
  const [, version, release = ""] = /^node:([\d.]+)-(\w+)-slim$/.exec(last?.base ?? "") ?? [];
  if (version !== process.versions.node) throw new Error(`The image has Node ${version}, this is ${process.version}.`);
  if (!existsSync(join(root, "etc/debian_version"))) {
    say(`debootstrap of ${release} into ${root}`);
    mkdirSync(root, { recursive: true });
    execFileSync("debootstrap", ["--variant=minbase", release, root], { stdio: ["ignore", "ignore", "inherit"] });
  }
  const npm = realpathSync(execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim());
  const modules = join(root, "usr/local/lib/node_modules");
  cpSync(resolve(npm, "../.."), join(modules, "npm"), { recursive: true, dereference: true });
  cpSync(process.execPath, join(root, "usr/local/bin/node"));
  symlinkSync("../lib/node_modules/npm/bin/npx-cli.js", join(root, "usr/local/bin/npx"));
  execFileSync("chroot", [root, "groupadd", "--gid", "1000", "node"]);
  execFileSync("chroot", [root, "useradd", "--uid", "1000", "--gid", "node", "--create-home", "node"]);
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(root, "usr/local/bin/npm"));
}

/** An engine's build context: the files of HEAD that .dockerignore includes. */
function makeContext(root: string): void {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  const kept = readFileSync(join(repository, ".dockerignore"), "utf8").match(/(?<=^!).+$/gm) ?? [];
  const archive = execFileSync("git", ["-C", repository, "archive", "HEAD", ...kept], { maxBuffer: 512 * 1024 * 1024 });
  execFileSync("tar", ["-x", "-C", root], { input: archive });
}

async function build(stage: Stage): Promise<void> {
  const root = rootOf(stage);
  say(`stage ${stage.name ?? "image"}`);
  const done = stepsDone(stage);
  if (done === 0) {
    rmSync(root, { recursive: true, force: true });
    execFileSync("cp", ["-a", "--reflink=auto", base, root]);
  }
  const hosts = ["etc/resolv.conf", "etc/hosts"];
  for (const file of hosts) cpSync(join("/", file), join(root, file), { dereference: true });
  let workdir = "/";
  for (const [index, { keyword, text }] of stage.instructions.entries()) {
    if (keyword === "WORKDIR") mkdirSync(join(root, (workdir = text)), { recursive: true });
    if (index < done) continue;
    if (keyword === "COPY") copy(text, root, workdir);
    if (keyword === "RUN") await run(text, root, workdir);
    writeFileSync(`${root}.steps`, String(index + 1));
  }
}

/** With `--resume`, how many of its instructions an earlier run did. */
function stepsDone(stage: Stage): number {
  const file = `${rootOf(stage)}.steps`;
  return values.resume && existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
}

/** `COPY [--from=<stage>] <source>… <target>`, with wildcards. */
function copy(text: string, root: string, workdir: string): void {
  say(`COPY ${text}`);
  const words = text.split(/\s+/);
  const from = /^--from=(.+)$/.exec(words[0] ?? "")?.[1];
  const sources = words.slice(from === undefined ? 0 : 1, -1);
  const target = resolve(workdir, words.at(-1) ?? "");
  const top = from === undefined ? context : join(folder, from);
  for (const source of sources.flatMap((word) =>
    word === "." ? [word] : globSync(word.replace(/^\//, ""), { cwd: top }),
  )) {
    const path = join(top, source);
    const into = text.endsWith("/") ? join(root, target, basename(path)) : join(root, target);
    const isFolder = !text.endsWith("/");
    mkdirSync(isFolder ? into : dirname(into), { recursive: true });
    execFileSync("cp", ["-a", ...(isFolder ? [`${path}/.`, into] : [path, into])]);
  }
  execFileSync("chown", ["-R", "0:0", join(root, target)]);
}

async function run(text: string, root: string, workdir: string): Promise<void> {
  say(`RUN ${text}`);
  const program: ContainedProgram = {
    argv: ["/bin/sh", "-c", text],
    env: { ...baseEnv, HOME: "/root", ...(ownAuthorities !== undefined && { NODE_EXTRA_CA_CERTS: authoritiesInside }) },
    user: rootUser,
    workdir,
  };
  const binds = ownAuthorities === undefined ? [] : [{ from: ownAuthorities, to: authoritiesInside, readOnly: true }];
  if (binds.length > 0) writeFileSync(join(root, authoritiesInside), "");
  const { code } = await ended(spawnContained({ path: root, binds, writable: true }, program, "inherit"));
  rmSync(join(root, authoritiesInside), { force: true });
  if (code !== 0) throw new Error(`\`${text}\` ended with ${code}.`);
}

/** Twice on the same volumes, as `compose.yaml` does it. */
async function boot(path: string, image: ImageConfig): Promise<void> {
  const binds = image.volumes.map((to) => ({ from: join(folder, "volumes", basename(to)), to, readOnly: false }));
  rmSync(join(folder, "volumes"), { recursive: true, force: true });
  // A new volume takes what the image has there.
  for (const { from, to } of binds) {
    mkdirSync(dirname(from), { recursive: true });
    execFileSync("cp", ["-a", join(path, to), from]);
  }
  const model = await startModelServer();
  const env = {
    ...image.env,
    POSTERN_PORT: "7377",
    POSTERN_INSECURE_HTTP: "1",
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: "sk-scripted-anthropic-0000000000000000",
    OPENAI_BASE_URL: `${model.url}/v1`,
    OPENAI_API_KEY: "sk-scripted-openai-0000000000000000",
  };
  const [first = "", ...rest] = [...image.entrypoint, ...image.cmd];
  const program: ContainedProgram = { argv: [first, ...rest], env, user: posternUser, workdir: image.workdir };
  const dir = join(image.workdir, "project");
  for (const which of ["first", "second"]) {
    say(`${which} boot`);
    const container = await bootContained({ path, binds, writable: false }, program);
    console.log(container.output());
    const [check = "", ...args] = image.healthcheck ?? [];
    say(
      `healthcheck: ${(await container.exec(check, ...args)).code}, id: ${(await container.exec("id")).stdout.trim()}`,
    );
    await container.exec("git", "init", "--quiet", dir);
    for (const agent of ["claude-code", "codex"]) {
      const prompt = ["postern", "coding", "ask", "--dir", dir, "--agent", agent, `say marmalade ${which}`] as const;
      const { code, stdout, stderr } = await container.exec(...prompt);
      say(`${agent} ended with ${code}: ${stdout.trim()} (${stderr.trim()})`);
    }
    const startedAt = performance.now();
    const { code } = await container.stop();
    say(`stopped with ${code} after ${Math.round(performance.now() - startedAt)} ms`);
  }
  await model.close();
  writeFileSync(join(folder, "done"), new Date().toISOString());
}
