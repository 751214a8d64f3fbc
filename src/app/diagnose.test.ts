import { chmod, mkdir, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../test/support/run-cli.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { silentLog } from "../core/log.ts";
import { checkClock, checkDisk, checkExposure, checkGateway, checkNode, checkTerminalHost } from "../doctor/index.ts";
import { openDatabase } from "../storage/database.ts";
import type { Finding } from "../wire/doctor.ts";
import { openCommandStores } from "./command-stores.ts";
import { type Config, loadConfig } from "./config.ts";
import { diagnose, diagnoseHere } from "./diagnose.ts";

interface Machine {
  readonly home: string;
  readonly bin: string;
  config(more?: Readonly<Record<string, string>>): Config;
}

/** A healthy machine: git and two agents on PATH, one of them configured, and a store. */
async function makeMachine(): Promise<Machine> {
  const root = await makeTempFolder();
  const [home, bin] = [join(root, "home"), join(root, "bin")];
  await mkdir(bin);
  const config: Machine["config"] = (more = {}) =>
    loadConfig({ POSTERN_HOME: home, PATH: bin, HOME: root, POSTERN_PORT: "0", ...more });
  await program(bin, "git", "echo git version 2.50.1");
  await program(bin, "claude", `[ "$1" = --version ] && echo 2.1.300 || echo '{"loggedIn":true}'`);
  const stores = await openCommandStores(config());
  await stores.agents.configure([{ name: "claude-code", binary: null }], null);
  await stores.close();
  return { home, bin, config };
}

async function program(folder: string, name: string, script: string): Promise<void> {
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, name), 0o755);
}

async function troubles(config: Config): Promise<readonly Finding[]> {
  return (await diagnose(config, { smoke: false })).filter(({ level }) => level !== "ok");
}

test("a healthy machine has no findings, and nothing is changed", async () => {
  const { home, config } = await makeMachine();
  const picture = async () =>
    Promise.all(
      (await readdir(home, { recursive: true })).toSorted().map(async (name) => {
        const { mtimeMs, mode, size } = await stat(join(home, name));
        return { name, mtimeMs, mode, size };
      }),
    );
  const before = await picture();
  expect(await troubles(config())).toEqual([]);
  expect(await picture()).toEqual(before);
});

test("an invalid configuration file is a finding with the line, and the other checks still run", async () => {
  const { home, config } = await makeMachine();
  const { env } = config();
  await writeFile(join(home, "config.json"), '{\n  "port" 7177\n}\n');
  const [broken, ...others] = await diagnoseHere({ smoke: false }, env);
  expect(broken).toMatchObject({ check: "configuration", level: "failure" });
  expect(broken?.message).toContain(`${join(home, "config.json")}, line 2: `);
  expect(others.filter(({ level }) => level !== "ok")).toEqual([]);
  await writeFile(join(home, "config.json"), '{ "port": "often" }');
  const [invalid] = await diagnoseHere({ smoke: false }, { ...env, POSTERN_PORT: "" });
  expect(invalid?.message).toContain('"port"');
  expect(invalid?.fix).toContain("config.json");
  const [variable] = await diagnoseHere({ smoke: false }, { ...env, POSTERN_PORT: "often" });
  expect(variable).toMatchObject({ check: "configuration", fix: "unset POSTERN_PORT" });
});

test("a new machine gets the first step, and no state folder is created", async () => {
  const { home, bin, config } = await makeMachine();
  await rm(home, { recursive: true });
  await rm(join(bin, "claude"));
  expect(await troubles(config())).toMatchObject([{ check: "agents", level: "failure", fix: "postern coding setup" }]);
  await expect(stat(home)).rejects.toThrow();
});

const planted: readonly (readonly [
  string,
  (machine: Machine) => Promise<unknown>,
  Partial<Finding> & { readonly says: RegExp },
])[] = [
  [
    "no git",
    ({ bin }) => rm(join(bin, "git")),
    { check: "git", level: "failure", says: /`git` is not on PATH/, fix: expect.stringContaining("install") },
  ],
  [
    "an old git",
    ({ bin }) => program(bin, "git", "echo git version 2.20.1"),
    { check: "git", level: "warning", says: /2\.20\.1/ },
  ],
  [
    "a broken git",
    ({ bin }) => program(bin, "git", "exit 1"),
    { check: "git", level: "failure", says: /does not print/, fix: expect.stringMatching(/ git$/) },
  ],
  [
    "an agent that was removed",
    ({ bin }) => rm(join(bin, "claude")),
    {
      check: "agent claude-code",
      level: "failure",
      says: /not found/,
      fix: "postern coding setup --agent claude-code --install",
    },
  ],
  [
    "an agent that does not run",
    ({ bin }) => program(bin, "claude", "exit 1"),
    {
      check: "agent claude-code",
      level: "failure",
      says: /does not print its version/,
      fix: "npm install --global @anthropic-ai/claude-code",
    },
  ],
  [
    "an agent that is too old",
    ({ bin }) => program(bin, "claude", `[ "$1" = --version ] && echo 2.1.197 || echo '{"loggedIn":true}'`),
    {
      check: "version of claude-code",
      level: "failure",
      says: /^Claude Code 2\.1\.197 is too old: Postern needs 2\.1\.200 or newer\.$/,
      fix: "npm install -g @anthropic-ai/claude-code@latest",
    },
  ],
  [
    "an agent that is logged out",
    ({ bin }) => program(bin, "claude", `[ "$1" = --version ] && echo 2.1.300 || echo '{"loggedIn":false}'`),
    {
      check: "agent claude-code",
      level: "failure",
      says: /not logged in/,
      fix: expect.stringMatching(/\/claude auth login$/),
    },
  ],
  [
    "a state folder open to others",
    ({ home }) => chmod(home, 0o755),
    { check: "state folder", level: "failure", says: /0755/, fix: expect.stringMatching(/^chmod 700 \//) },
  ],
  [
    "a state folder with other files",
    async ({ home }) => {
      await rm(home, { recursive: true });
      await mkdir(join(home, "of-others"), { recursive: true });
      await chmod(home, 0o755);
    },
    { check: "state folder", level: "failure", says: /not Postern's/, fix: expect.stringContaining("POSTERN_HOME=") },
  ],
  [
    "a state folder on a missing disk",
    async ({ home }) => {
      await rm(home, { recursive: true });
      await symlink(`${home}-elsewhere`, home);
    },
    {
      check: "state folder",
      level: "failure",
      says: /broken link/,
      fix: expect.stringMatching(/^mkdir -p -m 700 \/.*-elsewhere$/),
    },
  ],
  [
    "a key that others can read",
    ({ home }) => chmod(join(home, "key"), 0o644),
    { check: "file key", level: "failure", says: /0644/, fix: expect.stringMatching(/^chmod 600 \/.*\/key$/) },
  ],
  [
    "a key that is none",
    ({ home }) => writeFile(join(home, "key"), "short"),
    { check: "key", level: "failure", says: /not a valid key/ },
  ],
  [
    "a socket folder that others can write to",
    ({ home }) => mkdir(join(home, "run")).then(() => chmod(join(home, "run"), 0o777)),
    { check: "socket folder", level: "failure", says: /0777/ },
  ],
  [
    "a damaged store",
    ({ home }) => writeFile(join(home, "postern.db"), "not a database, whatever it says".repeat(200)),
    { check: "store", level: "failure", says: /Cannot read/, fix: expect.stringMatching(/^mv /) },
  ],
  [
    "a store of a newer Postern",
    ({ home }) => changeStore(home, "9999-later", null),
    { check: "store", level: "failure", says: /newer version/ },
  ],
  [
    "a store of an older Postern",
    ({ home }) => changeStore(home, null, null),
    { check: "store", level: "warning", says: /older/, fix: "postern serve" },
  ],
  [
    "a clock that was set back",
    ({ home }) => changeStore(home, "", Date.now() + 3_600_000),
    { check: "clock", level: "failure", says: /60 min before/ },
  ],
];

test.each(planted)("%s is found, with the command that fixes it", async (_what, plant, { says, ...finding }) => {
  const machine = await makeMachine();
  await plant(machine);
  const found = await troubles(machine.config());
  expect(found).toContainEqual(expect.objectContaining({ ...finding, message: expect.stringMatching(says) }));
  expect(found.find(({ check }) => check === finding.check)?.fix).toEqual(expect.any(String));
});

/** `""` keeps the migrations, null removes the last one. */
async function changeStore(home: string, migration: string | null, newestAt: number | null): Promise<void> {
  const { db, close } = await openDatabase({ url: null, path: join(home, "postern.db"), log: silentLog });
  const tables = db.withTables<{ kysely_migration: { name: string; timestamp: string } }>();
  if (migration === null) await tables.deleteFrom("kysely_migration").where("name", ">", "0007").execute();
  else if (migration !== "")
    await tables.insertInto("kysely_migration").values({ name: migration, timestamp: "" }).execute();
  if (newestAt !== null) await db.updateTable("configured_agents").set({ configured_at: newestAt }).execute();
  await close();
}

test("an agent that is newer than the tests is a warning, without a command", async () => {
  const { bin, config } = await makeMachine();
  await program(bin, "claude", `[ "$1" = --version ] && echo 99.0.0 || echo '{"loggedIn":true}'`);
  expect(await troubles(config())).toEqual([
    {
      check: "version of claude-code",
      level: "warning",
      message: expect.stringMatching(/^Claude Code 99\.0\.0 is newer than [\d.]+, the newest version that Postern was/),
      fix: null,
    },
  ]);
});

test("several agents without a default are a warning with the command that chooses one", async () => {
  const { bin, config } = await makeMachine();
  await program(bin, "codex", "echo codex 0.160.0");
  const stores = await openCommandStores(config());
  await stores.agents.configure([{ name: "codex", binary: null }], null);
  await stores.close();
  expect(await troubles(config())).toMatchObject([
    { check: "agents", level: "warning", fix: "postern coding setup --default claude-code" },
  ]);
});

/** A server in this process that sends `words` on every connection. */
async function listen(at: { readonly path: string } | { readonly port: number }, words: string): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", () => socket.end(words));
  });
  await new Promise<void>((listening) =>
    server.listen({ ...at, ...("port" in at ? { host: "127.0.0.1" } : {}) }, listening),
  );
  onTestFinished(() => new Promise<void>((closed) => void server.close(() => closed())));
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

test("a port used by another program is found, with the program", async () => {
  const { config } = await makeMachine();
  const port = await listen({ port: 0 }, "SSH-2.0-nothing\r\n");
  const [found, ...more] = await troubles(config({ POSTERN_PORT: String(port), POSTERN_HOST: "127.0.0.1" }));
  expect(more).toEqual([]);
  expect(found).toMatchObject({ check: "port", level: "failure", fix: `postern serve --port ${port + 1}` });
  if (process.platform === "linux") expect(found?.message).toContain(`(pid ${process.pid})`);
});

test("a gateway of another state folder on the port is not recognized as this one", async () => {
  const { config } = await makeMachine();
  const body = '{"status":"ok"}';
  const port = await listen({ port: 0 }, `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  expect(await troubles(config({ POSTERN_PORT: String(port), POSTERN_HOST: "127.0.0.1" }))).toMatchObject([
    { check: "port", level: "failure", message: expect.stringContaining("another state folder") },
  ]);
});

test("a program on Postern's sockets that does not speak its protocol is found", async () => {
  const { home, config } = await makeMachine();
  await mkdir(join(home, "run"), { mode: 0o700 });
  await listen({ path: join(home, "run", "gateway.sock") }, "what?\n");
  await listen({ path: join(home, "run", "host.sock") }, "what?\n");
  expect(await troubles(config())).toMatchObject([
    { check: "gateway", level: "failure", message: expect.stringContaining("does not respond") },
    { check: "terminal host", level: "failure", fix: process.platform === "linux" ? `kill ${process.pid}` : null },
  ]);
});

test("findings that a test machine cannot have", async () => {
  expect(checkNode("22.1.0")).toMatchObject([{ level: "failure", fix: "nvm install 24" }]);
  const disk = async (bytes: number) => (await checkDisk("/srv/state", async () => bytes))[0]?.level;
  expect([await disk(10 * 2 ** 20), await disk(500 * 2 ** 20), await disk(2 ** 40)]).toEqual([
    "failure",
    "warning",
    "ok",
  ]);
  expect(checkClock(1_000, [30_000, null])).toMatchObject([{ level: "ok" }]);
  const host = { version: "1.0.0", restart: commands.restart, socketPath: "/srv/host.sock" };
  expect(checkTerminalHost(null, host)).toMatchObject([{ level: "failure", fix: commands.restart }]);
  expect(checkTerminalHost({ pid: 7, version: "0.9.0", liveTerminals: 2 }, host)).toMatchObject([
    { level: "ok", message: expect.stringMatching(/^Version 0\.9\.0 .* with 2 terminals\. Version \S+ replaces it/) },
  ]);
});

const commands = {
  restart: "systemctl --user restart postern.service",
  upgrade: "postern service install",
  keepKeys: "postern service install --keys",
};
const gatewayState = {
  socket: { version: "1.0.0" },
  ...{ pid: 4711, addresses: [], freePort: null, version: "1.0.0", commands },
} as const;

test("a running gateway is never told to be started: the fixes restart it, or end the one that hangs", () => {
  const free = { address: "127.0.0.1", port: 7177, state: "free", owner: null } as const;
  expect(checkGateway({ ...gatewayState, socket: { version: "0.9.0" }, addresses: [free] })).toMatchObject([
    { check: "gateway", level: "warning", fix: commands.upgrade },
    { check: "port", level: "warning", fix: commands.restart },
  ]);
  const silent = { ...gatewayState, socket: "silent" } as const;
  expect(checkGateway(silent)).toMatchObject([{ level: "failure", fix: "kill -KILL 4711" }]);
  const stuck = { ...free, state: "other", owner: { pid: 4712, name: "node" } } as const;
  expect(checkGateway({ ...silent, pid: null, addresses: [stuck] })).toMatchObject([{ fix: "kill -KILL 4712" }]);
  const unknown = checkExposure({ ...open, authOn: false, start: "postern stop && postern serve" });
  expect(unknown).toMatchObject([{ fix: "postern stop && POSTERN_AUTH=on postern serve" }]);
});

const open = {
  start: "postern serve",
  exposure: "https",
  openHosts: [],
  insecureHttp: false,
  authOn: true,
  address: "https://a.example",
  trustedProxies: 1,
} as const;

test.each([
  [{}, "ok"],
  [{ trustedProxies: 0 }, "warning"],
  [{ authOn: false }, "warning"],
  [{ exposure: "plain_http", openHosts: ["0.0.0.0"] }, "failure"],
  [{ exposure: "plain_http", openHosts: ["0.0.0.0"], insecureHttp: true }, "warning"],
  [{ exposure: "plain_http" }, "warning"],
  [{ exposure: "this_machine" }, "ok"],
] as const)("exposure %j is a finding of level %s", (facts, level) => {
  expect(checkExposure({ ...open, ...facts })).toMatchObject([
    { level, fix: level === "ok" ? null : expect.any(String) },
  ]);
});

test("the command exits with 1 only for a failure, and prints lines or JSON", async () => {
  const find = (...findings: readonly Finding[]) => ({ ports: { diagnose: async () => findings } });
  const fine: Finding = { check: "git", level: "ok", message: "git 2.\u001b[31m50.", fix: null };
  const bad: Finding = { check: "agent codex", level: "failure", message: "Gone.", fix: "npm install --global x" };
  expect(await runCommand(["doctor"], find(fine))).toEqual({
    code: 0,
    stdout: "ok       git: git 2.50.\n\nNo problems found.\n",
    stderr: "",
  });
  expect(await runCommand(["doctor"], find({ ...bad, level: "warning" }))).toMatchObject({ code: 0 });
  const run = await runCommand(["doctor"], find(fine, bad));
  expect(run.code).toBe(1);
  expect(run.stdout).toContain(
    "failure  agent codex: Gone.\n         fix: npm install --global x\n\n1 failure, 0 warnings.\n",
  );
  const json = await runCommand(["doctor", "--json"], find(fine, bad));
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toEqual({ ok: false, findings: [fine, bad] });
});
