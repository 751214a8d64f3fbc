import { execFile } from "node:child_process";
import { chmod, lstat, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { CloseOutput } from "../../src/wire/coding.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });
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

describe.for(["claude-code", "codex"])("%s", (agent) => {
  test("works in a worktree of its own; a close keeps all that it would lose, and a later prompt brings the worktree back", async () => {
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
      permissionMode: agent === "codex" ? "edits" : "all",
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
      branch,
      baseBranch: "main",
      removed: false,
      rescue: { ref: `refs/postern/rescue/${sessionId}`, commit },
    });
    expect(await readFile(join(path, "README.md"), "utf8")).toBe("# Scratch\n");
    await close(sessionId);
  });
});
