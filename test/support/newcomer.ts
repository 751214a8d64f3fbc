import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { realpathSync, statSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect, createServer as createSocketServer, type Socket } from "node:net";
import { dirname, join, resolve } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Bind,
  baseEnv,
  type ContainedUser,
  ended,
  initOf,
  rootUser,
  spawnContained,
} from "../../tools/contained.ts";
import { type DebianRoot, person } from "../../tools/debian-root.ts";
import { installAgents } from "../../tools/install-agents.ts";
import { npmFolder } from "../../tools/npm.ts";
import { startModelServer } from "../model-server/model-server.ts";
import { makeTestFolder } from "./test-folder.ts";
import { openTerminal, type TypedTerminal } from "./typed-terminal.ts";

const repository = resolve(import.meta.dirname, "../..");
const registryPort = 3128;
const modelPort = 4010;
/** The machine's own certificates, if it reaches the registry through a proxy. */
const authorities = process.env["NODE_EXTRA_CA_CERTS"] || undefined;
const authoritiesInside = "/run/own-authorities.pem";

/** Where npm gets its packages. */
export const registry = new URL(process.env["npm_config_registry"] ?? "https://registry.npmjs.org/");

/** Someone in front of a computer that has Git, Node, npm and two agents, and an empty home. Only npm's registry can be reached from it. */
export interface Newcomer {
  /** Opens a terminal in the home. */
  terminal(): Promise<TypedTerminal>;
  /** The address of a mirror of this checkout's HEAD. */
  readonly mirror: string;
  /** The agents that `npm run demo` would install. */
  readonly agents: string;
  close(): Promise<void>;
}

/** @param options `major`: the Node and the npm that came with it; `isRoot`: who sits there */
export async function seatNewcomer(
  debian: DebianRoot,
  { major, isRoot }: { readonly major: 20 | 24; readonly isRoot: boolean },
): Promise<Newcomer> {
  const scratch = makeTestFolder("newcomer");
  const user: ContainedUser = isRoot ? rootUser : { uid: person.uid, gid: person.gid };
  const home = isRoot ? "/root" : `/home/${person.name}`;
  const mirror = join(scratch, "postern.git");
  execFileSync("git", ["clone", "--quiet", "--bare", repository, mirror]);
  execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, mirror]);
  const agents = await installAgents(() => undefined);
  const modules = resolve(realpathSync(agents.claude), "../../..");
  const readOnly = (from: string, to: string): Bind => ({ from, to, readOnly: true });
  const binds = [
    readOnly(major === 20 ? debian.node20.node : process.execPath, "/usr/local/bin/node"),
    readOnly(major === 20 ? debian.node20.npm : npmFolder(), "/usr/local/lib/node_modules/npm"),
    // At the same path, because their links are absolute.
    readOnly(modules, modules),
    readOnly(mirror, "/srv/postern.git"),
    ...(authorities === undefined ? [] : [readOnly(authorities, authoritiesInside)]),
  ];
  await layMountPoints(join(scratch, "upper"), binds);
  for (const name of ["claude", "codex"] as const)
    await symlink(realpathSync(agents[name]), join(scratch, "upper/usr/local/bin", name));
  await mkdir(join(scratch, "work"));

  const root = { path: debian.path, binds, writable: true, changes: scratch, ownNetwork: true } as const;
  const waits = ["sh", "-c", "echo entered; exec sleep infinity"] as const;
  const computer = spawnContained(root, { argv: waits, env: baseEnv, user: rootUser, workdir: "/" });
  const off = ended(computer);
  let said = "";
  computer.stdout?.on("data", (part: Buffer) => (said += String(part)));
  const isEntered = (): boolean => computer.exitCode !== null || said.includes("entered");
  while (!isEntered()) await sleep(20);
  if (computer.exitCode !== null) throw new Error(`No root could be entered: ${(await off).stderr}`);
  const init = String(initOf(computer));
  const [model, gate] = [await startModelServer(), await openRegistryGate(join(scratch, "registry.sock"))];
  const modelGate = await openGate(join(scratch, "model.sock"), Number(new URL(model.url).port));
  execFileSync("nsenter", ["--target", init, "--net", "ip", "link", "set", "lo", "up"]);
  const relay = spawn(
    "nsenter",
    [
      "--target",
      init,
      "--net",
      process.execPath,
      "-e",
      relayScript,
      join(scratch, "registry.sock"),
      join(scratch, "model.sock"),
    ],
    { stdio: "inherit" },
  );
  const env = {
    ...baseEnv,
    HOME: home,
    // As Debian's ~/.profile does it.
    PATH: `${home}/.local/bin:${baseEnv["PATH"]}`,
    USER: isRoot ? "root" : person.name,
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    npm_config_https_proxy: `http://127.0.0.1:${registryPort}`,
    npm_config_registry: registry.href,
    ...(authorities !== undefined && { NODE_EXTRA_CA_CERTS: authoritiesInside }),
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${modelPort}`,
    ANTHROPIC_API_KEY: "sk-scripted-anthropic-0000000000000000",
    OPENAI_BASE_URL: `http://127.0.0.1:${modelPort}/v1`,
    OPENAI_API_KEY: "sk-scripted-openai-0000000000000000",
  };
  const who = [
    "setpriv",
    "--reuid",
    String(user.uid),
    "--regid",
    String(user.gid),
    "--init-groups",
    "--inh-caps=-all",
    "--",
  ];
  const shell = ["env", "-C", home, "bash", "--noprofile", "--norc", "-i"];
  const terminals: TypedTerminal[] = [];
  return {
    mirror: "file:///srv/postern.git",
    agents: modules,
    async terminal() {
      const inside = ["--target", init, "--mount", "--pid", "--net", "--"];
      const opened = await openTerminal(["nsenter", ...inside, ...(isRoot ? [] : who), ...shell], env);
      terminals.push(opened);
      return opened;
    },
    async close() {
      for (const each of terminals) await each.close();
      computer.kill("SIGKILL");
      relay.kill("SIGKILL");
      await off;
      for (const each of [gate, modelGate]) each.close();
      await model.close();
      await rm(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

async function layMountPoints(upper: string, binds: readonly Bind[]): Promise<void> {
  await mkdir(upper, { mode: 0o755 });
  for (const { from, to } of binds) {
    const isFolder = statSync(from).isDirectory();
    await mkdir(join(upper, isFolder ? to : dirname(to)), { recursive: true });
    if (!isFolder) await writeFile(join(upper, to), "");
  }
}

/** In the computer's network: passes connections on to the sockets of {@link openRegistryGate} and {@link openGate}. */
const relayScript = `const net = require("node:net");
for (const [port, path] of [[${registryPort}, process.argv[1]], [${modelPort}, process.argv[2]]])
  net.createServer((one) => {
    const other = net.connect(path);
    for (const each of [one, other]) each.on("error", () => [one, other].forEach((it) => it.destroy()));
    one.pipe(other).pipe(one);
  }).listen(port, "127.0.0.1");`;

/** A proxy on a socket that connects only to npm's registry. */
async function openRegistryGate(path: string) {
  const server = createServer((_asked, answer) => answer.writeHead(403).end());
  server.on("connect", (asked, client) => {
    const [host = "", port] = (asked.url ?? "").split(":");
    if (host !== registry.hostname) return client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const other = connect(Number(port), host, () => client.write("HTTP/1.1 200 Connected\r\n\r\n"));
    connectBoth(client, other);
  });
  server.listen(path);
  await once(server, "listening");
  return server;
}

/** Leads connections to a socket on to a port. */
async function openGate(path: string, port: number) {
  const server = createSocketServer((client) => connectBoth(client, connect(port, "127.0.0.1")));
  server.listen(path);
  await once(server, "listening");
  return server;
}

function connectBoth(one: Duplex, other: Socket): void {
  for (const each of [one, other]) {
    each.on("error", () => {
      one.destroy();
      other.destroy();
    });
  }
  one.pipe(other).pipe(one);
}
