import { expect, test } from "vitest";
import { runCommand } from "../../test/support/run-cli.ts";
import {
  askOutput,
  problem,
  type ScriptedAnswer,
  sessionSummary,
  startScriptedGateway,
} from "../../test/support/scripted-gateway.ts";

const sessionId = "0b0c0000-0000-4000-8000-000000000001";
const rescue = {
  sessionId,
  ref: "refs/postern/rescue/0b0c",
  commit: "abc123",
  repository: "/srv/code",
  path: "/srv/feat-a",
  branch: "feat/a",
  files: 2,
  rescuedAt: "2025-01-01T00:00:00.000Z",
};

/** Runs one command against a gateway with this answer. @returns its output and the request */
async function run(tool: string, answer: ScriptedAnswer, argv: readonly string[]) {
  const gateway = await startScriptedGateway({ [tool]: [answer] });
  const ran = await runCommand(argv, { ports: { socketPath: async () => gateway.socketPath } });
  await gateway.close();
  return { ...ran, requests: gateway.requests };
}

test("list shows the backup commits, or that there are none", async () => {
  const some = await run("rescue_list", { body: { rescues: [rescue] } }, ["rescue", "list"]);
  expect(some.stdout).toMatch(/^SESSION +RESCUED +FILES +BRANCH +REPOSITORY\n0b0c\S+ .* 2 +feat\/a +\/srv\/code\n$/);
  const none = await run("rescue_list", { body: { rescues: [] } }, ["rescue", "list"]);
  expect(none).toMatchObject({ code: 0, stdout: "", stderr: "No rescues.\n" });
});

test("show lists the paths without control characters, and how to see the changes", async () => {
  const paths = [
    { path: "a\u001b[31m.txt", change: "added" },
    { path: "b", change: "deleted" },
  ];
  const body = { ...rescue, paths, pathCount: 1_200 };
  const shown = await run("rescue_show", { body }, ["rescue", "show", sessionId]);
  expect(shown.stdout).toContain("added");
  expect(shown.stdout).not.toContain("\u001b");
  expect(shown.stdout).toContain("and 1198 more");
  expect(shown.stderr).toContain("git -C /srv/code show refs/postern/rescue/0b0c");
});

test("restore overwrites only with --force, and a conflict is an error that names the files", async () => {
  const body = { sessionId, path: "/srv/feat-a", restored: ["a"], restoredCount: 1 };
  const plain = await run("rescue_restore", { body }, ["rescue", "restore", sessionId]);
  expect(plain).toMatchObject({ code: 0, stdout: "Restored 1 file in /srv/feat-a.\n" });
  expect(plain.requests).toEqual([{ path: "/api/coding/rescue_restore", body: { sessionId } }]);
  const forced = await run("rescue_restore", { body }, ["rescue", "restore", sessionId, "--force"]);
  expect(forced.requests[0]?.body).toEqual({ sessionId, force: true });
  const conflict = { status: 409, body: problem(409, "worktree_conflict") };
  const refused = await run("rescue_restore", conflict, ["rescue", "restore", sessionId]);
  expect(refused).toMatchObject({ code: 1, stderr: "postern: worktree_conflict: This is worktree_conflict.\n" });
});

test("drop names the removed backup commit", async () => {
  const dropped = await run("rescue_drop", { body: rescue }, ["rescue", "drop", sessionId]);
  expect(dropped.stdout).toBe("Deleted refs/postern/rescue/0b0c (was abc123).\n");
});

test("ask sends the worktree's fields, and prints where the agent works and that there is a backup commit to restore", async () => {
  const worktree = {
    repository: "/srv/app",
    path: "/srv/feat-a",
    branch: "feat/a",
    baseBranch: "main",
    removed: false,
    rescue,
  };
  const body = askOutput({ started: "resumed", worktree });
  const argv = ["coding", "ask", "--worktree", "--branch", "feat/a", "--base", "main", "Go on"];
  const asked = await run("coding_ask", { body }, argv);
  expect(asked.requests[0]?.body).toMatchObject({ worktree: { branch: "feat/a", baseBranch: "main" } });
  expect(asked.stderr).toContain("Working in /srv/feat-a, branch feat/a.");
  expect(asked.stderr).toContain("postern rescue restore");
});

test("close reports what happened to the worktree", async () => {
  const worktree = {
    path: "/srv/feat-a",
    removed: true,
    reason: null,
    rescue: { ref: rescue.ref, commit: rescue.commit, files: 2 },
    ignoredLost: { count: 7, bytes: 70, first20: ["1", "2", "3", "4", "5", "6", "7"] },
    branchKept: "feat/a",
  };
  const body = { ...sessionSummary({ sessionId, status: "completed" }), worktree };
  const closed = await run("coding_close_session", { body }, ["coding", "close", sessionId]);
  expect(closed.stdout).toBe(
    [
      `Closed ${sessionId}.`,
      "Removed the worktree /srv/feat-a and kept its branch feat/a.",
      `2 changed files were saved as refs/postern/rescue/0b0c. To restore: \`postern rescue restore ${sessionId}\``,
      "Deleted with it: 7 ignored files (70 bytes): 1, 2, 3, 4, 5, …",
      "",
    ].join("\n"),
  );
  const stays = { ...worktree, removed: false, reason: "It is locked.", rescue: null };
  const stayed = await run("coding_close_session", { body: { ...body, worktree: stays } }, [
    "coding",
    "close",
    sessionId,
  ]);
  expect(stayed.stdout).toBe(`Closed ${sessionId}.\nKept the worktree /srv/feat-a: It is locked.\n`);
});
