import { execFile } from "node:child_process";
import { appendFile, lstat, mkdtemp, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Compared, ComparisonList, ComparisonRead, KeptSession } from "../../src/wire/comparisons.ts";
import { createApiClient } from "../support/gateway.ts";
import { posternEnvironment, runPostern } from "../support/postern-process.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const run = promisify(execFile);
const waitMs = 120_000;
/** It starts four agents. */
const testMs = 400_000;

async function git(dir: string, ...args: readonly string[]): Promise<string> {
  const identity = ["-c", "user.name=T", "-c", "user.email=t@example.com"];
  return (await run("git", ["-C", dir, ...identity, ...args])).stdout;
}

async function read(comparisonId: string): Promise<ComparisonRead> {
  const answer = await used.gateway.api.get<ComparisonRead>(`/api/coding/comparisons/${comparisonId}`);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

async function worktrees(): Promise<readonly string[]> {
  const listed = await git(used.world.repository, "worktree", "list", "--porcelain");
  return [...listed.matchAll(/^worktree (.+)$/gm)].map(([, path = ""]) => path);
}

test(
  "four agents race on one prompt: one is kept, three are rescued and gone, also from the list of worktrees",
  async () => {
    const { api, app } = used.gateway;
    const { repository, root, home } = used.world;
    const head = (await git(repository, "rev-parse", "main")).trim();
    const request = {
      dir: repository,
      prompt: "Add the greeting.\nwrite made.txt with by the agent",
      permissionMode: "all",
      contenders: [
        { agent: "scripted" },
        { agent: "nobody" },
        ...Array.from({ length: 3 }, () => ({ agent: "scripted" })),
      ],
      idempotencyKey: "race",
    };
    const started = await api.post<Compared>("/api/coding/compare", request);
    expect(started.status, JSON.stringify(started.body)).toBe(200);
    const { comparisonId, sessions } = started.body;
    expect(sessions[1]).toMatchObject({ agent: "nobody", sessionId: null, error: { code: "agent_unknown" } });
    const ids = sessions.flatMap(({ sessionId }) => (sessionId === null ? [] : [sessionId]));
    expect(new Set(ids).size).toBe(4);
    expect(await api.post("/api/coding/compare", request), "a repeated request").toMatchObject({
      status: 200,
      body: { comparisonId },
    });
    expect(await api.post("/api/coding/compare", { ...request, prompt: "other" })).toMatchObject({
      status: 409,
      body: { code: "idempotency_conflict" },
    });
    expect(await worktrees()).toHaveLength(5);

    // All turns have ended, with the same base.
    const ended = async () =>
      (await read(comparisonId)).sessions.filter(({ answer, activity }) => answer !== null && activity === "idle")
        .length;
    await expect.poll(ended, { timeout: waitMs, interval: 500 }).toBe(4);
    const done = await read(comparisonId);
    expect(done).toMatchObject({
      baseBranch: "main",
      baseCommit: head,
      keptSessionId: null,
      title: "Add the greeting.",
    });
    const [first, , ...others] = done.sessions;
    expect(first).toMatchObject({
      ...{ agent: "scripted", sessionId: ids[0], error: null, status: "running", kept: false, rescue: null },
      changes: { files: 1, added: 1, removed: 0, paths: [{ path: "made.txt", added: 1, removed: 0 }] },
    });
    expect(first?.workedMs).toBeGreaterThanOrEqual(0);
    expect(first?.usage?.outputTokens).toBeGreaterThan(0);
    const dirs = (await worktrees()).slice(1);
    for (const dir of dirs) expect((await git(dir, "rev-parse", "HEAD")).trim()).toBe(head);

    // Uncommitted, untracked and committed work of those that are not kept.
    const folders = await Promise.all(
      ids.map(async (sessionId) => {
        const session = await api.post<{ dir: string }>("/api/coding/coding_read_session", { sessionId });
        return session.body.dir;
      }),
    );
    expect(folders.toSorted()).toEqual(dirs.toSorted());
    const [keptDir = "", changed = "", committed = ""] = folders;
    await appendFile(join(changed, "README.md"), "changed\n");
    await writeFile(join(changed, "untracked.txt"), "untracked\n");
    await git(committed, "add", ".");
    await git(committed, "commit", "--quiet", "-m", "unmerged");

    // A caller of another folder, and a caller that cannot write.
    const elsewhere = await realpath(await mkdtemp(join(root, "elsewhere-")));
    const { accountId } = await app.accounts.owner();
    const limited = await app.accounts.tokens.create(accountId, {
      ...{ name: "limited", scopes: ["coding:read", "coding:write"], folders: [elsewhere], expiresAt: null },
    });
    const path = `/api/coding/comparisons/${comparisonId}`;
    const outside = createApiClient(used.gateway.url, limited.token);
    expect(await outside.get(path)).toMatchObject({ status: 404, body: { code: "comparison_not_found" } });
    expect(await outside.post(`${path}/keep`, { sessionId: ids[0] })).toMatchObject({ status: 404 });
    expect((await outside.get<ComparisonList>("/api/coding/comparisons")).body.comparisons).toEqual([]);
    const { permissionMode: _mode, idempotencyKey: _key, ...asking } = request;
    expect(await outside.post("/api/coding/compare", asking)).toMatchObject({
      status: 403,
      body: { code: "dir_not_allowed" },
    });
    expect(await outside.post("/api/coding/compare", { ...asking, permissionMode: "all" })).toMatchObject({
      body: { code: "insufficient_scope" },
    });

    // Nothing is closed while one of the others works, or for a session that is not part of it.
    expect(await api.post(`${path}/keep`, { sessionId: "other" })).toMatchObject({
      body: { code: "session_not_found" },
    });
    await api.ask({ dir: repository, sessionId: ids[3] ?? "", prompt: "agent hang", permissionMode: "all" });
    const works = async () => (await read(comparisonId)).sessions.at(-1)?.activity;
    await expect.poll(works, { timeout: waitMs, interval: 500 }).toBe("working");
    expect(await api.post(`${path}/keep`, { sessionId: ids[0] })).toMatchObject({
      status: 409,
      body: { code: "agent_working" },
    });
    expect(await worktrees()).toHaveLength(5);

    // Two decisions at once: one of them counts.
    const both = await Promise.all(
      [ids[0], ids[0], ids[1]].map((sessionId) =>
        api.post<KeptSession>(`${path}/keep`, { sessionId, whileWorking: true }),
      ),
    );
    expect(both.map(({ status }) => status)).toEqual([200, 200, 409]);
    const closed = both[0]?.body.closed ?? [];
    expect(closed.map(({ sessionId }) => sessionId)).toEqual(ids.slice(1));
    for (const { worktree, error, sessionId } of closed) {
      expect(error).toBeNull();
      expect(worktree).toMatchObject({ removed: true, reason: null });
      expect(worktree?.branchKept).toMatch(/^postern\/add-the-greeting/);
      await expect(lstat(worktree?.path ?? "")).rejects.toThrow();
      if (sessionId === ids[2]) expect(worktree?.rescue, "all was committed").toBeNull();
      else expect(worktree?.rescue?.ref).toBe(`refs/postern/rescue/${sessionId}`);
    }
    expect(await worktrees()).toEqual([repository, keptDir]);
    expect(await readFile(join(keptDir, "made.txt"), "utf8")).toContain("by the agent");
    const branches = closed.map(({ worktree }) => worktree?.branchKept ?? "");
    expect(await git(repository, "log", "-1", "--format=%s", branches[1] ?? "")).toBe("unmerged\n");

    const after = await read(comparisonId);
    expect(after.keptSessionId).toBe(ids[0]);
    expect(after.sessions.map(({ kept }) => kept)).toEqual([true, false, false, false, false]);
    expect(after.sessions[0]).toMatchObject({ status: "running", closedAt: null, worktreeRemoved: false });
    for (const session of others) expect(session.status).not.toBeNull();
    expect(after.sessions[2]).toMatchObject({ worktreeRemoved: true, rescue: closed[0]?.worktree?.rescue && {} });

    // The saved work can be restored.
    const shown = await runPostern(["rescue", "show", ids[1] ?? "", "--json"], { env: posternEnvironment(home) });
    expect(shown.code, shown.stderr).toBe(0);
    const { paths } = JSON.parse(shown.stdout);
    expect(paths).toEqual([
      { path: "README.md", change: "modified" },
      { path: "made.txt", change: "added" },
      { path: "untracked.txt", change: "added" },
    ]);
    expect(await api.post("/api/coding/rescue_restore", { sessionId: ids[1] })).toMatchObject({ status: 200 });
    expect(await readFile(join(changed, "untracked.txt"), "utf8")).toBe("untracked\n");
    await api.post("/api/coding/coding_close_session", { sessionId: ids[1] });

    // Forgotten with the last of its sessions.
    for (const sessionId of ids) {
      expect(await api.get(path)).toMatchObject({ status: 200 });
      await api.post("/api/coding/coding_close_session", { sessionId, discardWorktree: true });
      const forgotten = await used.gateway.client(["coding:read", "coding:write", "coding:drive"]);
      expect(await forgotten.delete(`/api/coding/sessions/${sessionId}/traces`)).toMatchObject({ status: 200 });
    }
    expect(await api.get(path)).toMatchObject({ status: 404 });
    expect(await worktrees()).toEqual([repository]);
  },
  testMs,
);
