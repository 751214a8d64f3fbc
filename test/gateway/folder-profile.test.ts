import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Log, silentLog } from "../../src/core/log.ts";
import { processRow } from "../../src/platform/process-table.ts";
import type { AskInput, CloseOutput } from "../../src/wire/coding.ts";
import type { FolderProfile, ProfileProposal } from "../../src/wire/folder-profiles.ts";
import type { ScriptRun } from "../../src/wire/folder-scripts.ts";
import { type ApiClient, createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { posternEnvironment, runPostern } from "../support/postern-process.ts";
import { bearer, openTerminal } from "../support/terminal-client.ts";

const run = promisify(execFile);
const waitMs = 120_000;
const patience = { timeout: 120_000, interval: 50 };
const secret = "s3cret-value-91c4";

let world: World;
let gateway: TestGateway;
let owner: ApiClient;
let folderId = "";
/** Everything that the gateway logs. */
const logged: string[] = [];
const note = (fields: unknown, message?: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
const log: Log = { ...silentLog, debug: note, info: note, warn: note, error: note };

beforeAll(async () => {
  world = await createWorld({ agents: "scripted" });
  gateway = await startGateway(world, log);
  owner = await gateway.client(["admin", "coding:read", "coding:write", "coding:drive"]);
  ({ folderId } = await gateway.app.folders.add(world.repository, ["coding", "files"]));
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

async function put(profile: object): Promise<FolderProfile> {
  const answer = await owner.put<FolderProfile>(`/api/folders/${folderId}/profile`, profile);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

function start(more: Partial<AskInput> = {}): AskInput {
  return { agent: "scripted", dir: world.repository, worktree: {}, prompt: "hello", waitMs, ...more };
}

async function close(sessionId: string): Promise<CloseOutput["worktree"]> {
  const closed = await owner.post<CloseOutput>("/api/coding/coding_close_session", { sessionId });
  expect(closed.status, JSON.stringify(closed.body)).toBe(200);
  return closed.body.worktree;
}

async function scriptsOf(sessionId: string): Promise<readonly ScriptRun[]> {
  return (await owner.get<{ scripts: ScriptRun[] }>(`/api/coding/scripts?sessionId=${sessionId}`)).body.scripts;
}

/** The command line of a process. */
async function argumentsOf(pid: number | null): Promise<string> {
  return (await run("ps", ["-o", "args=", "-p", String(pid)])).stdout;
}

/**
 * Files below these folders that contain the text. In a separate process: closing a file of the store would release the locks that SQLite
 * holds on it in this one.
 */
async function filesWith(text: string, ...folders: readonly string[]): Promise<string> {
  return (await run("sh", ["-c", 'grep -rlaF -- "$@" || [ $? = 1 ]', "sh", text, ...folders])).stdout;
}

test("variables reach the agent and the scripts of the folder, and appear nowhere else", async () => {
  const setup = `printf %s "$API_TOKEN" | cksum > by-setup; printf %s "$POSTERN_REPOSITORY" > repository`;
  const shown = await put({ env: { API_TOKEN: secret }, setup });
  expect(shown).toMatchObject({ env: ["API_TOKEN"], setup });
  const drive = { permissionMode: "edits" as const };
  const first = await owner.ask(start({ ...drive, prompt: `write made.txt with hello` }));
  const { dir, sessionId } = first;
  expect(await readFile(join(dir, "repository"), "utf8")).toBe(world.repository);
  const bySetup = await readFile(join(dir, "by-setup"), "utf8");
  const asked = owner.ask({ dir, sessionId, prompt: `run printf %s "$API_TOKEN" | cksum > by-agent`, waitMs });
  await expect.poll(async () => (await owner.read(sessionId)).permissions, patience).toHaveLength(1);
  const [permission] = (await owner.read(sessionId)).permissions;
  const answer = { sessionId, permissionId: permission?.permissionId, decision: "allow" };
  expect(await owner.post("/api/coding/coding_answer_permission", answer)).toMatchObject({ status: 200 });
  await asked;
  await expect.poll(async () => (await owner.read(sessionId)).activity, patience).toBe("idle");
  expect(await readFile(join(dir, "by-agent"), "utf8")).toBe(bySetup);
  const expected = (await run("sh", ["-c", `printf %s ${secret} | cksum`])).stdout;
  expect(bySetup).toBe(expected);

  const other = await owner.ask(start({ prompt: "hello there" }));
  expect((await run("ps", ["-A", "-ww", "-o", "args="])).stdout).not.toContain(secret);
  const answers = [
    await owner.get(`/api/folders/${folderId}/profile`),
    await owner.get("/api/audit"),
    await owner.get("/api/coding/scripts"),
    await owner.read(other.sessionId),
    shown,
  ];
  expect(JSON.stringify(answers)).not.toContain(secret);
  expect(JSON.stringify(answers[1])).toContain("folder_profile_changed");
  expect(logged.join("\n")).toContain("setup script ended");
  expect(logged.filter((line) => line.includes(secret))).toEqual([]);
  // The state folder holds the store, recordings and scripts; the other one the transcripts.
  expect(await filesWith(secret, world.home, join(world.root, "scripted"))).toBe("");
  expect(await filesWith("API_TOKEN", world.home)).toContain("postern.db");
  // It is no one's but the owner's.
  for (const method of ["get", "put"] as const) {
    const refused = await gateway.api[method](`/api/folders/${folderId}/profile`, {});
    expect(refused).toMatchObject({ status: 403, body: { code: "insufficient_scope" } });
  }
  for (const one of [sessionId, other.sessionId]) expect(await close(one)).toMatchObject({ removed: true });
});

test("the prompt waits for the setup script, which is watched while it runs and afterwards", async () => {
  await put({ setup: "echo installing; until [ -e go ]; do sleep 0.05; done; echo installed" });
  const early = await owner.post<{ code: string; sessionId: string; scriptId: string }>(
    "/api/coding/coding_ask",
    start({ waitMs: 1 }),
  );
  expect(early, JSON.stringify(early.body)).toMatchObject({ status: 409, body: { code: "setup_running" } });
  const { sessionId, scriptId } = early.body;
  const [running] = await scriptsOf(sessionId);
  expect(running).toMatchObject({ scriptId, kind: "setup", state: "running" });
  expect(await owner.post("/api/coding/coding_read_session", { sessionId })).toMatchObject({ status: 404 });
  const headers = await bearer(gateway.app);
  const terminal = openTerminal({ url: gateway.url, headers, query: { session_id: scriptId } });
  const screen = async (): Promise<string> => (await terminal.screen()).join("\n");
  await expect.poll(screen, patience).toContain("installing");
  await writeFile(join(running?.dir ?? "", "go"), "");
  await expect.poll(screen, patience).toContain("installed");
  const answered = async (): Promise<number> => {
    const { status, body } = await owner.post<{ turns?: unknown[] }>("/api/coding/coding_read_session", { sessionId });
    return status === 200 ? (body.turns?.length ?? 0) : 0;
  };
  await expect.poll(answered, patience).toBe(2);
  expect(await scriptsOf(sessionId)).toMatchObject([{ state: "succeeded", exitCode: 0 }]);
  const late = openTerminal({ url: gateway.url, headers, query: { session_id: scriptId } });
  await expect.poll(async () => (await late.screen()).join("\n"), patience).toContain("installed");
  expect(await close(sessionId)).toMatchObject({ removed: true });
});

test("a failed setup keeps the worktree and says why; a prompt runs it again and starts the agent", async () => {
  await put({ setup: "echo no registry; exit 3" });
  const failed = await owner.post<{ sessionId: string; worktree: string; scriptId: string }>(
    "/api/coding/coding_ask",
    start(),
  );
  expect(failed).toMatchObject({ status: 409, body: { code: "setup_failed", exitCode: 3, lastScreen: "no registry" } });
  const { sessionId, worktree } = failed.body;
  expect(existsSync(join(worktree, "README.md"))).toBe(true);
  expect(await owner.read(sessionId)).toMatchObject({
    status: "failed",
    failure: { exitCode: 3, lastScreen: "no registry" },
    worktree: { path: worktree, removed: false },
  });
  // Again, alone.
  await put({ setup: "echo again; exit 4" });
  const again = await owner.post<ScriptRun>(`/api/coding/sessions/${sessionId}/setup`, {});
  expect(again).toMatchObject({ status: 202, body: { kind: "setup", sessionId } });
  await expect.poll(() => scriptsOf(sessionId), patience).toMatchObject([{ state: "failed", exitCode: 4 }, {}]);
  await put({ setup: "echo ready > ready" });
  const asked = await owner.ask({ dir: world.repository, sessionId, prompt: "hello again", waitMs });
  expect(asked).toMatchObject({ sessionId, dir: worktree, activity: "idle" });
  expect(asked.turns).toMatchObject([{ text: "hello again" }, {}]);
  expect(await readFile(join(worktree, "ready"), "utf8")).toBe("ready\n");
  // A recreated worktree is set up again.
  expect(await close(sessionId)).toMatchObject({ removed: true });
  await owner.ask({ dir: world.repository, sessionId, prompt: "once more", waitMs });
  expect(await readFile(join(worktree, "ready"), "utf8")).toBe("ready\n");
  expect(await close(sessionId)).toMatchObject({ removed: true });
});

test("a teardown script that hangs is ended at its limit with what it started, and the worktree still goes", async () => {
  const pids = join(world.root, "pids");
  const teardown = `trap "" HUP TERM INT; sh -c 'trap "" HUP TERM; echo $$ >> ${pids}; sleep 1000' & echo $$ >> ${pids}; wait; sleep 1000`;
  await put({ teardown, teardownTimeoutMs: 10_000 });
  const { sessionId, dir } = await owner.ask(start());
  expect(await close(sessionId)).toMatchObject({ removed: true, teardown: { state: "timed_out", exitCode: null } });
  expect(existsSync(dir)).toBe(false);
  const started = (await readFile(pids, "utf8")).trim().split("\n").map(Number);
  expect(started).toHaveLength(2);
  const left = (): readonly number[] => started.filter((pid) => processRow(pid)?.zombie === false);
  await expect.poll(left, patience).toEqual([]);
  await put({ teardown: `cp README.md ${world.root}/saved` });
  const next = await owner.ask(start());
  expect(await close(next.sessionId)).toMatchObject({ removed: true, teardown: { state: "succeeded" } });
  expect(existsSync(join(world.root, "saved"))).toBe(true);
});

test("a profile's defaults apply to what a caller leaves out, and give no caller more than it may request", async () => {
  const env = posternEnvironment(world.home, world.env);
  const cli = (...argv: readonly string[]) =>
    runPostern(["folder", "profile", ...argv], { env, cwd: world.repository });
  await writeFile(join(world.root, "vars"), `# tokens\nexport FROM_FILE="${secret}"\n`);
  await put({});
  const options = ["--model", "m-1", "--permission-mode", "edits", "--branch-prefix", "team/"];
  const set = await cli("set", ".", ...options, "--variables", "../vars", "--clear", "teardown", "--json");
  expect(set.code, set.stderr).toBe(0);
  const { permissionMode, branchPrefix, model } = JSON.parse(set.stdout);
  expect(JSON.parse(set.stdout)).toMatchObject({ env: expect.arrayContaining(["FROM_FILE"]), teardown: null });
  const text = await cli("show", ".");
  expect(text.stdout).toMatch(/Branch prefix: +team\/\n/);
  expect(text.stdout + set.stdout).not.toContain(secret);

  // The commands do not know the scripted agent.
  await put({ permissionMode, branchPrefix, model, agent: "scripted" });
  const { agent: _agent, ...unnamed } = start({ prompt: "Fix the build" });
  const driving = await owner.ask(unnamed);
  expect(driving).toMatchObject({ agent: "scripted", worktree: { branch: "team/fix-the-build" } });
  expect(await argumentsOf(driving.pid)).toMatch(/--mode edits --model m-1/);
  const named = await owner.ask({ ...unnamed, agent: "scripted", model: "m-2", permissionMode: "ask" });
  expect(await argumentsOf(named.pid)).toMatch(/--mode ask --model m-2/);
  const writer = await gateway.client(["coding:read", "coding:write"]);
  const written = await writer.ask(unnamed);
  expect(await argumentsOf(written.pid)).toMatch(/--mode ask --model m-1/);
  await put({ agent: "scripted", permissionMode: "all" });
  const limited = await owner.ask(unnamed);
  expect(await argumentsOf(limited.pid), "the folder has no scope exec").toMatch(/--mode ask/);
  for (const { sessionId } of [driving, named, written, limited]) await close(sessionId);
});

test("what a repository proposes runs only while it is exactly what the owner approved", async () => {
  await put({});
  const marker = join(world.root, "proposed-ran");
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
  async function propose(setup: string): Promise<void> {
    await writeFile(join(world.repository, ".postern.json"), JSON.stringify({ setup }));
    await run("git", ["-C", world.repository, "add", ".postern.json"]);
    await run("git", ["-C", world.repository, ...identity, "commit", "--quiet", "--message=Propose"]);
  }
  const begin = async (): Promise<void> => void (await close((await owner.ask(start())).sessionId));
  const proposals = async (): Promise<readonly ProfileProposal[]> =>
    (await owner.get<{ proposals: ProfileProposal[] }>(`/api/folders/${folderId}/proposals`)).body.proposals;

  await propose(`echo 1 >> ${marker}`);
  await begin();
  expect(existsSync(marker)).toBe(false);
  const [proposal] = await proposals();
  expect(proposal).toMatchObject({ repository: world.repository, state: "proposed", error: null });
  const approval = { repository: world.repository, hash: proposal?.hash };
  const url = `/api/folders/${folderId}/proposals/approve`;
  expect(await gateway.api.post(url, approval)).toMatchObject({ status: 403 });
  expect(await owner.post(url, { ...approval, hash: "0".repeat(64) })).toMatchObject({
    status: 409,
    body: { code: "proposal_changed" },
  });
  expect(await owner.post(url, approval)).toMatchObject({ status: 200, body: { state: "approved" } });
  await begin();
  expect(await readFile(marker, "utf8")).toBe("1\n");
  await propose(`echo 2 >> ${marker}`);
  await begin();
  expect(await readFile(marker, "utf8")).toBe("1\n");
  expect(await proposals()).toMatchObject([{ state: "changed", approved: proposal?.content }]);
  const env = posternEnvironment(world.home, world.env);
  const shown = await runPostern(["folder", "profile", "proposals", "."], { env, cwd: world.repository });
  expect(shown.stdout).toMatch(/changed\n[^]*^- .*echo 1[^]*^\+ .*echo 2/m);
});
