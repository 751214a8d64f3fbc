import { execFile } from "node:child_process";
import { chmod, lstat, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { CloseOutput } from "../../src/wire/coding.ts";
import { posternEnvironment, runPostern } from "../support/postern-process.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const run = promisify(execFile);
const waitMs = 30_000;

async function git(...args: readonly string[]): Promise<string> {
  return (await run("git", ["-C", used.world.repository, ...args])).stdout;
}

async function close(sessionId: string, more: object = {}): Promise<CloseOutput> {
  const closed = await used.gateway.api.post<CloseOutput>("/api/coding/coding_close_session", { sessionId, ...more });
  expect(closed.status, JSON.stringify(closed.body)).toBe(200);
  return closed.body;
}

/** What the main checkout is: its files' state, index, stash, HEAD. */
async function mainState(): Promise<readonly string[]> {
  return Promise.all([
    git("status", "--porcelain=v2", "--branch"),
    git("ls-files", "--stage"),
    git("stash", "list"),
    git("rev-parse", "HEAD"),
  ]);
}

describe("a session", () => {
  const agent = "scripted";
  test("works in its own worktree; closing saves uncommitted work, and a later prompt restores the worktree", async () => {
    const { api } = used.gateway;
    const { repository, root } = used.world;
    const branch = `feat/${agent}`;
    const path = join(root, `feat-${agent}`);
    const before = await mainState();
    const asked = await api.ask({
      agent,
      dir: repository,
      worktree: true,
      baseBranch: "main",
      branch,
      permissionMode: "all",
      prompt: `write ${path}/made.txt with by the agent`,
      waitMs,
    });
    expect(asked).toMatchObject({
      dir: path,
      worktree: { path, branch, baseBranch: "main", removed: false, rescue: null },
    });
    expect(await readFile(join(path, "made.txt"), "utf8")).toContain("by the agent");
    await writeFile(join(path, "README.md"), "changed\n");
    await writeFile(join(path, "run.sh"), "#!/bin/sh\n");
    await chmod(join(path, "run.sh"), 0o755);
    await symlink("made.txt", join(path, "link"));
    await writeFile(join(path, ".gitignore"), "*.log\n");
    await writeFile(join(path, "big.log"), "lost\n");

    const { sessionId } = asked;
    const closed = await close(sessionId);
    expect(closed.worktree).toMatchObject({
      path,
      removed: true,
      reason: null,
      branchKept: branch,
      rescue: { ref: `refs/postern/rescue/${sessionId}`, files: 5 },
      ignoredLost: { count: 1, bytes: 5, first20: ["big.log"] },
    });
    await expect(lstat(path)).rejects.toThrow();
    expect(await mainState()).toEqual(before);
    expect(await git("branch", "--list", branch)).toContain(branch);
    const commit = closed.worktree?.rescue?.commit ?? "";
    const tree = await git("ls-tree", "-r", commit);
    expect(tree).toMatch(/^100755 .*\trun\.sh$/m);
    expect(tree).toMatch(/^120000 .*\tlink$/m);
    expect(await git("show", `${commit}:README.md`)).toBe("changed\n");
    expect(await git("show", `${commit}:made.txt`)).toContain("by the agent");

    const again = await api.ask({ dir: repository, sessionId, prompt: "go on", waitMs });
    expect(again).toMatchObject({ sessionId, started: "resumed", dir: path, status: "running" });
    expect(again.worktree).toEqual({
      path,
      repository,
      branch,
      baseBranch: "main",
      removed: false,
      rescue: { ref: `refs/postern/rescue/${sessionId}`, commit },
    });
    expect(await readFile(join(path, "README.md"), "utf8")).toBe("# Scratch\n");
    const restored = await api.post("/api/coding/rescue_restore", { sessionId });
    expect(restored, JSON.stringify(restored.body)).toMatchObject({ status: 200, body: { path, restoredCount: 5 } });
    expect(await readFile(join(path, "made.txt"), "utf8")).toContain("by the agent");
    expect((await lstat(join(path, "run.sh"))).mode & 0o111).not.toBe(0);

    await mkdir(join(path, "inner"));
    await run("git", ["init", "--quiet", join(path, "inner")]);
    expect((await close(sessionId)).worktree).toMatchObject({
      removed: false,
      reason: expect.stringContaining("inner"),
    });
    expect(await readFile(join(path, "made.txt"), "utf8")).toContain("by the agent");
    await rm(join(path, "inner"), { recursive: true });
    expect((await close(sessionId)).worktree, "closed again").toMatchObject({ removed: true, rescue: { commit } });
    expect(await mainState()).toEqual(before);
  });
});

/** A session in a worktree with this branch and a short prompt. */
async function begin(branch: string, more: object = {}) {
  const dir = used.world.repository;
  const wanted = {
    agent: "scripted",
    dir,
    worktree: true,
    baseBranch: "main",
    branch,
    prompt: "hello",
    waitMs,
    ...more,
  };
  return used.gateway.api.ask(wanted);
}

test("two sessions never share a worktree; one that the caller names is the session's own, or none", async () => {
  const { api } = used.gateway;
  const { sessionId, dir } = await begin("alone");
  const prompt = "hello";
  expect(await api.post("/api/coding/coding_ask", { agent: "scripted", dir, prompt })).toMatchObject({
    status: 409,
    body: { code: "session_busy" },
  });
  expect(await api.post("/api/coding/spawn", { agent: "scripted", dir: join(dir, ".") })).toMatchObject({
    status: 409,
  });
  const again = await api.ask({ dir, sessionId, worktree: true, baseBranch: "main", branch: "alone", prompt, waitMs });
  expect(again).toMatchObject({ sessionId, started: "reconnect" });
  const other = { dir, sessionId, worktree: true, baseBranch: "main", branch: "other", prompt };
  expect(await api.post("/api/coding/coding_ask", other)).toMatchObject({
    status: 409,
    body: { code: "session_mismatch" },
  });
  await close(sessionId);
});

test("an agent that exits leaves its worktree; coding_close_all removes those of running sessions", async () => {
  const { api } = used.gateway;
  const ended = await begin("ended");
  await api.ask({ dir: ended.dir, sessionId: ended.sessionId, prompt: "/exit", allowCommands: true });
  await expect.poll(async () => (await api.read(ended.sessionId)).status, { timeout: 20_000 }).toBe("completed");
  expect((await api.read(ended.sessionId)).worktree).toMatchObject({ removed: false });
  expect((await lstat(ended.dir)).isDirectory()).toBe(true);
  const running = await begin("running");
  await writeFile(join(running.dir, "new"), "new\n");
  const all = await api.post<{ closed: CloseOutput[]; failed: unknown[] }>("/api/coding/coding_close_all", {});
  expect(all.body.failed).toEqual([]);
  const closed = all.body.closed.find(({ sessionId }) => sessionId === running.sessionId);
  expect(closed?.worktree).toMatchObject({ removed: true, rescue: { files: 1 } });
  expect((await lstat(ended.dir)).isDirectory()).toBe(true);
  expect((await close(ended.sessionId)).worktree).toMatchObject({ removed: true, rescue: null });
});

test("after /clear the worktree belongs to the session that continues in it", async () => {
  const { api } = used.gateway;
  const { sessionId, dir } = await begin("cleared");
  await api.ask({ dir, sessionId, prompt: "/clear", allowCommands: true });
  await expect.poll(async () => (await api.read(sessionId)).continuedBy, { timeout: 20_000 }).not.toBeNull();
  const next = (await api.read(sessionId)).continuedBy ?? "";
  expect((await api.read(next)).worktree).toMatchObject({ path: dir, removed: false });
  expect((await close(sessionId)).worktree).toBeNull();
  expect((await lstat(dir)).isDirectory()).toBe(true);
  expect((await close(next)).worktree).toMatchObject({ removed: true });
});

test("a worktree counts as its repository for the folder rule, also when it is gone; another folder's does not", async () => {
  const { api, app } = used.gateway;
  const { repository, root } = used.world;
  const elsewhere = join(root, "elsewhere");
  await mkdir(elsewhere);
  await app.folders.add(repository, ["coding"]);
  const { sessionId, dir } = await begin("scoped");
  expect(await api.read(sessionId)).toMatchObject({ dir });
  await close(sessionId);
  expect(await api.read(sessionId)).toMatchObject({ status: "completed" });
  const again = await api.ask({ dir, sessionId, prompt: "go on", waitMs });
  expect(again).toMatchObject({ started: "resumed", dir });
  const all = { dir, sessionId, prompt: "x", permissionMode: "all" };
  expect(await api.post("/api/coding/coding_ask", all), "no exec there").toMatchObject({ status: 403 });
  await close(sessionId);
  await app.folders.add(elsewhere, ["coding"]);
  await app.folders.remove(repository);
  expect(await api.post("/api/coding/coding_read_session", { sessionId })).toMatchObject({ status: 404 });
  expect(await api.post("/api/coding/coding_ask", { dir, sessionId, prompt: "x" })).toMatchObject({ status: 403 });
  await app.folders.remove(elsewhere);
});

test("fields that do not go together are refused, and a failed start leaves no worktree", async () => {
  const { api } = used.gateway;
  const dir = used.world.repository;
  const base = { agent: "scripted", dir, prompt: "hello" };
  for (const more of [
    { worktree: true, branch: "x" },
    { worktree: true, baseBranch: "main" },
    { branch: "x" },
    { worktree: false, baseBranch: "main" },
    { worktree: {}, branch: "x" },
    { worktree: { base: "main" } },
  ]) {
    expect(await api.post("/api/coding/coding_ask", { ...base, ...more })).toMatchObject({ status: 400 });
  }
  const wanted = { ...base, worktree: true, baseBranch: "nowhere", branch: "x" };
  expect(await api.post("/api/coding/coding_ask", wanted)).toMatchObject({
    status: 422,
    body: { code: "base_branch_not_found" },
  });
  expect(await git("branch", "--list", "x")).toBe("");
});

test("spawn opens a terminal in a worktree", async () => {
  const { api } = used.gateway;
  const dir = used.world.repository;
  const wanted = { agent: "scripted", dir, worktree: true, baseBranch: "main", branch: "spawned" };
  const spawned = await api.post<{ sessionId: string }>("/api/coding/spawn", wanted);
  expect(spawned, JSON.stringify(spawned.body)).toMatchObject({ status: 200, body: { status: "new" } });
  expect((await close(spawned.body.sessionId)).worktree).toMatchObject({ removed: true, branchKept: "spawned" });
});

/** A repository with one commit next to the first. */
async function anotherRepository(name: string): Promise<string> {
  const dir = join(used.world.root, name);
  await run("git", ["clone", "--quiet", used.world.repository, dir]);
  return dir;
}

test("a worktree without a name starts from the default branch, on a branch named after the prompt", async () => {
  const { api } = used.gateway;
  const { repository, root } = used.world;
  const begun = { agent: "scripted", dir: repository, prompt: "Repair the build, please", waitMs };
  const first = await api.ask({ ...begun, worktree: {} });
  expect(first).toMatchObject({
    dir: join(root, "postern-repair-the-build-please"),
    worktree: { branch: "postern/repair-the-build-please", baseBranch: "main" },
  });
  const cli = ["coding", "ask", "--agent", "scripted", "--worktree", "--json", begun.prompt];
  const env = posternEnvironment(used.world.home, used.world.env);
  const second = await runPostern(cli, { env, cwd: repository });
  expect(second.code, second.stderr).toBe(0);
  const asked = JSON.parse(second.stdout);
  expect(asked.worktree).toMatchObject({ branch: "postern/repair-the-build-please-2", baseBranch: "main" });
  // A session that is continued keeps its worktree.
  const again = await api.ask({ dir: repository, sessionId: first.sessionId, worktree: {}, prompt: "go on", waitMs });
  expect(again.worktree).toEqual(first.worktree);
  const { sessionId } = await api.ask({ agent: "scripted", dir: repository, prompt: "hello", waitMs });
  expect(await api.post("/api/coding/coding_ask", { ...begun, sessionId, worktree: {} })).toMatchObject({
    status: 409,
    body: { code: "session_mismatch" },
  });
  for (const one of [first.sessionId, asked.sessionId, sessionId]) await close(one);
});

test("when another repository's worktree has the branch's directory, both sessions keep their own", async () => {
  const { api } = used.gateway;
  const { root } = used.world;
  const other = await anotherRepository("other");
  const first = await begin("fix/same");
  const second = await begin("fix/same", { dir: other });
  expect([first.dir, second.dir]).toEqual([join(root, "fix-same"), join(root, "other-fix-same")]);
  for (const { sessionId } of [first, second]) await close(sessionId);
  const back = await api.ask({ dir: other, sessionId: second.sessionId, prompt: "go on", waitMs });
  expect(back).toMatchObject({ started: "resumed", dir: second.dir });
  await close(second.sessionId);
});

test("a folder's template names the directories of its repositories' new worktrees", async () => {
  const { api, app } = used.gateway;
  const { root } = used.world;
  const other = await anotherRepository("named");
  const owner = await used.gateway.client(["admin"]);
  const folder = { path: other, scopes: ["coding"] };
  const env = posternEnvironment(used.world.home, used.world.env);
  const add = ["folder", "add", other, "--scopes", "coding", "--worktree-name"];
  expect((await runPostern([...add, "{repository}--{branch}"], { env, cwd: root })).code).toBe(0);
  expect(await runPostern([...add, "../{branch}"], { env, cwd: root })).toMatchObject({ code: 2 });
  const first = await begin("fix/it", { dir: other });
  expect(first.dir).toBe(join(root, "named--fix-it"));
  expect(await owner.post("/api/folders", { ...folder, worktreeName: "wt {branch}" })).toMatchObject({ status: 201 });
  expect(await owner.post("/api/folders", { ...folder, worktreeName: "{branch}/x" })).toMatchObject({ status: 400 });
  expect(await owner.get("/api/folders")).toMatchObject({ body: { folders: [{ worktreeName: "wt {branch}" }] } });
  const second = await begin("fix/more", { dir: other });
  expect(second.dir).toBe(join(root, "wt fix-more"));
  // An existing session keeps its directory.
  await close(first.sessionId);
  expect((await api.ask({ dir: other, sessionId: first.sessionId, prompt: "go on", waitMs })).dir).toBe(first.dir);
  for (const { sessionId } of [first, second]) await close(sessionId);
  await app.folders.remove(other);
});
