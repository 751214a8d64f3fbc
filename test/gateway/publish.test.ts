import { execFile } from "node:child_process";
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { AuditPage } from "../../src/wire/accounts.ts";
import type { Committed, GitStatus } from "../../src/wire/publish.ts";
import { checkRun, comment, fakeHost, startFakeGitHub } from "../support/fake-github.ts";
import { posternEnvironment, runPostern } from "../support/postern-process.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const run = promisify(execFile);

test("a session's changes are committed and merged over HTTP and with the command line, with the scope coding:publish only", async () => {
  const { world, gateway } = used;
  const { api } = gateway;
  const { sessionId, dir } = await api.ask({
    agent: "scripted",
    dir: world.repository,
    worktree: true,
    baseBranch: "main",
    branch: "feat/publish",
    permissionMode: "all",
    prompt: "hello",
    waitMs: 60_000,
  });
  await writeFile(join(world.root, ".gitconfig"), "[user]\n\tname = Test\n\temail = test@example.invalid\n");
  await writeFile(join(dir, "README.md"), "changed\n");
  await writeFile(join(dir, "new.txt"), "new\n");
  const url = `/api/coding/sessions/${sessionId}/git`;

  const without = await gateway.client(["coding:read", "coding:write", "coding:drive"]);
  expect(await without.get(`${url}/status`)).toMatchObject({ status: 403, body: { scope: "coding:publish" } });
  expect((await without.post(`${url}/commit`, { message: "x", all: true })).status).toBe(403);

  const callers = await gateway.client(["coding:read", "coding:publish"]);
  expect(await callers.get(`${url}/status`)).toMatchObject({
    status: 200,
    body: { branch: "feat/publish", base: { name: "main", ahead: 0, behind: 0 }, agentWorking: false },
  });
  expect(await callers.post(`${url}/commit`, {})).toMatchObject({ status: 400, body: { code: "invalid_request" } });
  expect(await callers.post(`${url}/commit`, { message: "x" })).toMatchObject({ body: { code: "nothing_to_commit" } });
  const staged = await callers.post<GitStatus>("/api/coding/coding_git_stage", { sessionId, paths: ["new.txt"] });
  expect(staged.body.files).toContainEqual(expect.objectContaining({ path: "new.txt", staged: "added" }));
  const committed = await callers.post<Committed>(`${url}/commit`, { message: "Add a file" });
  expect(committed.body.status).toMatchObject({ head: { subject: "Add a file" }, base: { ahead: 1 } });

  const cli = (...args: readonly string[]) => runPostern(args, { env: posternEnvironment(world.home) });
  expect((await cli("coding", "git", "status", sessionId)).stdout).toMatch(
    /^Branch feat\/publish, 1 ahead of and 0 behind main\nNot staged:\n {2}modified +README\.md\n$/,
  );
  const done = await cli("coding", "git", "commit", sessionId, "--all", "--message", "Change the readme", "--json");
  expect(JSON.parse(done.stdout)).toMatchObject({ status: { files: [], head: { subject: "Change the readme" } } });
  const { stdout } = await run("git", ["-C", dir, "log", "--format=%an %s", "main.."]);
  expect(stdout).toBe("Test Change the readme\nTest Add a file\n");

  // Pull requests, with the real `gh` as configured in the user's home.
  expect(await callers.get(`${url}/pull-request`)).toMatchObject({
    status: 422,
    body: { code: "forge_not_available" },
  });
  expect((await without.get(`${url}/pull-request`)).status).toBe(403);
  const bare = join(world.root, "remote.git");
  await run("git", ["clone", "--quiet", "--bare", world.repository, bare]);
  const forge = await startFakeGitHub({ root: join(world.root, ".config"), bare });
  const address = `http://${fakeHost}/o/r.git`;
  await appendFile(join(world.root, ".gitconfig"), `[url "${bare}"]\n\tinsteadOf = ${address}\n`);
  await run("git", ["-C", dir, "remote", "add", "origin", address]);
  expect((await callers.post(`${url}/push`, {})).status).toBe(200);
  expect(await cli("coding", "git", "pr", sessionId, "--title", "x")).toMatchObject({ code: 2 });
  const opened = await cli("coding", "git", "pr", sessionId, "--open", "--json");
  expect(JSON.parse(opened.stdout)).toMatchObject({ pullRequest: { number: 1, title: "Add a file", base: "main" } });
  forge.details.checks = [checkRun("build", "SUCCESS")];
  forge.details.comments = [comment("ann", "Good\u001b[2J", 1)];
  expect((await cli("coding", "git", "pr", sessionId)).stdout).toBe(
    "#1 Add a file\nopen, feat/publish into main, can be merged\nhttp://github.localhost/o/r/pull/1\nChecks:\n  passed   build\n" +
      "1 comment:\n  ann:\n    Good^[[2J\n",
  );
  const old = { sessionId, headCommit: committed.body.commit };
  const refused = await callers.post("/api/coding/coding_git_merge", old);
  expect(refused).toMatchObject({ status: 409, body: { code: "pull_request_changed" } });
  const merged = await cli("coding", "git", "merge", sessionId, "--method", "squash");
  expect(merged.stdout).toBe("Merged #1 into main. http://github.localhost/o/r/pull/1\n");
  expect((await run("git", ["-C", bare, "log", "--format=%an", "-1", "main"])).stdout).toBe("Forge\n");

  const admin = await gateway.client(["admin"]);
  const { body } = await admin.get<AuditPage>("/api/audit?kind=publish");
  expect(body.entries.map(({ action, subject }) => ({ action, subject }))).toEqual([
    { action: "git_merged", subject: sessionId },
    { action: "git_pull_request_opened", subject: sessionId },
    { action: "git_pushed", subject: sessionId },
    { action: "git_committed", subject: sessionId },
    { action: "git_committed", subject: sessionId },
  ]);
});
