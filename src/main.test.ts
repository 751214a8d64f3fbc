import { once } from "node:events";
import { globSync } from "node:fs";
import { access, chmod, cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { delimiter, join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { endTerminalHost } from "../test/support/gateway.ts";
import {
  type FinishedProcess,
  installPackage,
  posternEnvironment,
  runPostern,
  servePostern,
} from "../test/support/postern-process.ts";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { silentLog } from "./core/log.ts";
import { openDatabase } from "./storage/database.ts";
import { acquireProcessLock } from "./storage/process-lock.ts";

// Each test starts several processes of Node, on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 90_000 });

let home = "";
let code = "";

beforeEach(async () => {
  const base = makeTestFolder("main");
  home = join(base, "home");
  code = join(base, "code");
  await mkdir(code);
});

afterEach(async () => {
  await endTerminalHost(home);
  await rm(join(home, ".."), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

function postern(...argv: readonly string[]): Promise<FinishedProcess> {
  return runPostern(argv, { env: posternEnvironment(home), cwd: code });
}

/** A folder with a program that answers `--version` under each of these names. */
async function installPrograms(...names: readonly string[]): Promise<string> {
  const folder = join(home, "..", "bin");
  await mkdir(folder, { recursive: true });
  for (const name of names) {
    await writeFile(join(folder, name), '#!/bin/sh\n[ "$1" = --version ] && echo 9.9.9\nexit 1\n');
    await chmod(join(folder, name), 0o755);
  }
  return folder;
}

test("serving plain http to a network is refused, and leaves no terminal host", async () => {
  const run = await postern("serve", "--host", "0.0.0.0", "--port", "0");
  expect(run).toMatchObject({ code: 1, stdout: "" });
  expect(run.stderr).toMatch(/^postern: unsafe_configuration: Listening on 0\.0\.0\.0 .*--insecure-http\.\n$/);
  await expect(access(join(home, "run"))).rejects.toThrow();
});

test("whether a gateway may start can be checked before anything is created", async () => {
  expect(await postern("serve", "--check", "--port", "7180")).toEqual({
    code: 0,
    stdout: "These settings are valid. The gateway would run at http://localhost:7180.\n",
    stderr: "",
  });
  expect(await postern("serve", "--check", "--host", "0.0.0.0")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^postern: unsafe_configuration: /),
  });
  await expect(access(home)).rejects.toThrow();
});

test("a port in use is reported before anything but the lock is created", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  try {
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const run = await postern("serve", "--host", "127.0.0.1", "--port", String(port));
    expect(run).toEqual({
      code: 1,
      stdout: "",
      stderr: `postern: address_in_use: Port ${port} on 127.0.0.1 is already in use. Stop the program that uses it, or choose another port with --port.\n`,
    });
    expect(await readdir(home)).toEqual(["gateway.lock"]);
  } finally {
    await new Promise((closed) => other.close(closed));
  }
});

test("a state folder that cannot be created is reported on one line, with the next step", async () => {
  await writeFile(home, "a file in its place");
  for (const argv of [
    ["serve", "--port", "0"],
    ["token", "list"],
  ]) {
    const run = await runPostern(argv, { env: posternEnvironment(join(home, "state")), cwd: code });
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toMatch(
      /^postern: state_folder_unusable: Cannot use \S+\/home\/state as the state folder: .*POSTERN_HOME\.\n$/,
    );
  }
});

test("a gateway refused because another one runs has not contacted the terminal host", async () => {
  const run = join(home, "run");
  await mkdir(run, { recursive: true, mode: 0o700 });
  const lock = acquireProcessLock(join(home, "gateway.lock"));
  let connections = 0;
  const host = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(join(run, "host.sock"));
  try {
    expect(await postern("serve", "--port", "0")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^postern: gateway_running: /),
    });
    expect(connections).toBe(0);
  } finally {
    lock.close();
    await new Promise((closed) => host.close(closed));
  }
});

describe("the package", () => {
  const repository = resolve(import.meta.dirname, "..");

  test("runs from the build, with the scripts that agents run, even with the source next to it", async () => {
    const folder = join(home, "..", "node_modules", "postern");
    const bin = await installPackage(folder);
    const env = posternEnvironment(home);
    expect(await runPostern(["folder", "list"], { env, bin })).toMatchObject({ code: 0 });
    for (const script of glob("src/**/*.{mjs,sh}")) {
      await access(join(folder, script.replace(/^src/, "dist")));
    }
    await cp(join(repository, "src"), join(folder, "src"), { recursive: true });
    expect(await runPostern(["--version"], { env, bin })).toMatchObject({ code: 0, stderr: "" });
  });

  function glob(pattern: string): readonly string[] {
    const found = globSync(pattern, { cwd: repository });
    expect(found.length).toBeGreaterThan(0);
    return found;
  }
});

test("folders are added, listed and removed without a gateway", async () => {
  expect(await postern("folder", "list")).toMatchObject({ code: 0, stdout: "" });
  const added = await postern("folder", "add", ".", "--scopes", "files,coding");
  expect(added).toMatchObject({ code: 0, stdout: `Registered ${code} for files, coding.\n` });
  expect(added.stderr).toContain("hooks and settings");
  const listed = await postern("folder", "list", "--json");
  expect(JSON.parse(listed.stdout)).toMatchObject({ folders: [{ path: code, scopes: ["files", "coding"] }] });
  expect(await postern("folder", "remove", code)).toMatchObject({ code: 0 });
  expect(await postern("folder", "remove", code)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^postern: folder_not_found: /),
  });
  expect(await postern("folder", "add", "absent", "--scopes", "coding")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^postern: dir_not_found: /),
  });
});

test("a token is the only standard output, and can be revoked", async () => {
  const created = await postern(
    "token",
    "create",
    "--name",
    "laptop",
    "--scopes",
    "coding:read",
    "--expires",
    "30d",
    "--folder",
    ".",
  );
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^pst_[\w-]{43}\n$/) });
  expect(created.stderr).toContain("not shown again");
  const { tokens } = JSON.parse((await postern("token", "list", "--json")).stdout);
  expect(tokens).toMatchObject([{ name: "laptop", scopes: ["coding:read"], folders: [code] }]);
  const lifetimeMs = Date.parse(tokens[0].expiresAt) - Date.now();
  expect(Math.abs(lifetimeMs - 30 * 86_400_000)).toBeLessThan(60_000);
  expect(await postern("token", "revoke", tokens[0].tokenId)).toMatchObject({ code: 0 });
  expect((await postern("token", "list")).stderr).toContain("No tokens");
});

test("all output of a command reaches a pipe, whatever its size", async () => {
  await postern("token", "list");
  const { db, close } = await openDatabase({ url: null, path: join(home, "postern.db"), log: silentLog });
  const { account_id } = await db.selectFrom("accounts").select("account_id").executeTakeFirstOrThrow();
  const often = Array.from({ length: 2_000 }, (_, index) => ({
    token_id: `${"much ".repeat(60)}${index}`,
    account_id,
    name: "one of many",
    token_hash: `hash ${index}`,
    scopes: "[]",
    folders: null,
    created_at: index,
    expires_at: null,
    last_used_at: null,
    revoked_at: null,
  }));
  await db.insertInto("personal_tokens").values(often).execute();
  await close();
  const { code: exitCode, stdout } = await postern("token", "list", "--json");
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ tokens: { length: 2_000 } });
});

test("setup with flags configures the agents it finds without questions", async () => {
  const folder = await installPrograms("claude", "codex");
  const env = posternEnvironment(home, { PATH: `${folder}${delimiter}/usr/bin${delimiter}/bin` });
  const all = await runPostern(["coding", "setup", "--yes", "--default", "agent_a", "--json"], { env });
  expect(all.stderr).toBe("");
  expect(JSON.parse(all.stdout)).toMatchObject({
    agents: [
      { name: "claude-code", isDefault: true, binary: join(folder, "claude") },
      { name: "codex", isDefault: false },
    ],
    availableAgents: [],
    default: "claude-code",
  });
  expect(await runPostern(["coding", "setup", "--agent", "nobody"], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^postern: agent_unknown: /),
  });
});

test("setup with a binary outside PATH configures that one", async () => {
  const folder = await installPrograms("other-codex");
  const env = posternEnvironment(home, { PATH: `/usr/bin${delimiter}/bin` });
  const argv = ["coding", "setup", "--agent", "agent_b", "--binary", join(folder, "other-codex"), "--json"];
  const run = await runPostern(argv, { env });
  expect(JSON.parse(run.stdout)).toMatchObject({
    agents: [{ name: "codex", binary: join(folder, "other-codex") }],
    availableAgents: [],
  });
});

test("setup without any agent on the machine names what to install", async () => {
  const env = posternEnvironment(home, { PATH: `/usr/bin${delimiter}/bin` });
  expect(await runPostern(["coding", "setup", "--yes"], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^postern: agent_binary_missing: .*@anthropic-ai\/claude-code/),
  });
});

test("a gateway serves until SIGTERM, and applies store commands immediately", async () => {
  const env = posternEnvironment(home);
  const gateway = await servePostern(env);
  try {
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${gateway.url}/manifest`)).status).toBe(401);
    const token = (await postern("token", "create", "--name", "t", "--scopes", "coding:read")).stdout.trim();
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${gateway.url}/manifest`, { headers })).status).toBe(200);
    const { tokens } = JSON.parse((await postern("token", "list", "--json")).stdout);
    await postern("token", "revoke", tokens[0].tokenId);
    expect((await fetch(`${gateway.url}/manifest`, { headers })).status).toBe(401);
    expect(await postern("coding", "agents", "--json")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"agents"'),
    });
    expect(await postern("coding", "read", "no-such-session")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^postern: session_not_found: /),
    });
    await signInAndOut(gateway.url.replace("127.0.0.1", "localhost"));
    const second = await runPostern(["serve", "--port", "0"], { env });
    expect(second).toMatchObject({ code: 1, stderr: expect.stringMatching(/^postern: gateway_running: /) });
  } finally {
    const ended = await gateway.end("SIGTERM");
    expect(ended).toMatchObject({ code: 0, signal: null });
    expect(ended.stdout).toContain("postern token create");
    expect(ended.stdout).toContain("postern login-link");
    expect(ended.stdout).not.toContain("/sign-in#"); // standard output is not a terminal
    expect(ended.stderr).toContain("Agents keep running");
  }
  expect(await postern("coding", "agents")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("postern serve"),
  });
  expect((await postern("login-link")).stdout).toMatch(/^http:\/\/localhost:7177\/sign-in#[\w-]{43}\n$/);
});

/** A browser with the link of the command line, at the gateway's actual port. */
async function signInAndOut(origin: string): Promise<void> {
  const { stdout } = await postern("login-link");
  const [, address, link] = /^(.*)\/sign-in#([\w-]{43})\n$/.exec(stdout) ?? [];
  expect(address).toBe(origin);
  const headers = { origin, "content-type": "application/json", "user-agent": "A browser" };
  const answer = await fetch(`${origin}/api/sign-in`, { method: "POST", headers, body: JSON.stringify({ link }) });
  const { key } = JSON.parse(await answer.text());
  const signedIn = { cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? "", "x-postern-key": key };
  const me = async () => (await fetch(`${origin}/api/me`, { headers: signedIn })).status;
  expect(await me()).toBe(200);
  const { browserSessions } = JSON.parse((await postern("browser", "list", "--json")).stdout);
  expect(browserSessions).toMatchObject([{ userAgent: "A browser" }]);
  const { browserSessionId } = browserSessions[0];
  expect(await postern("browser", "revoke", browserSessionId)).toMatchObject({ code: 0 });
  expect(await me()).toBe(401);
}
