import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { AuditPage } from "../../src/wire/accounts.ts";
import type { Committed, GitStatus } from "../../src/wire/publish.ts";
import { posternEnvironment, runPostern } from "../support/postern-process.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const run = promisify(execFile);

test("a session's changes are committed over HTTP and with the command line, with the scope coding:publish only", async () => {
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
  const admin = await gateway.client(["admin"]);
  const { body } = await admin.get<AuditPage>("/api/audit?kind=publish");
  expect(body.entries.map(({ action, subject }) => ({ action, subject }))).toEqual([
    { action: "git_committed", subject: sessionId },
    { action: "git_committed", subject: sessionId },
  ]);
});
