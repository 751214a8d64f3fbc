import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Committed, GitStatus } from "../../src/wire/publish.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });

test("a session's changes are committed over HTTP, with the scope coding:publish only", async () => {
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
});
