import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type ReviewComment,
  type ReviewComments,
  type ReviewPrompt,
  reviewCommentsSchema,
  type SentReview,
  type ViewedFiles,
} from "../../src/wire/reviews.ts";
import { createApiClient } from "../support/gateway.ts";
import { runCommand } from "../support/run-cli.ts";
import { useGateway } from "../support/use-gateway.ts";

// Review comments through the routes, the tools and the command of a whole gateway.

const here = useGateway({ agents: "scripted" });
const waitMs = 60_000;
const patience = { timeout: 60_000, interval: 50 };

/** As a line of the prompt, the turn that gets it runs until it is interrupted. */
const busyWork = "slow 600000 long work";

type Answer<T> = T & { readonly code: string };

/** A session whose repository has three changed files. */
async function changedSession() {
  const { api } = here.gateway;
  const dir = here.world.repository;
  await mkdir(join(dir, "src"), { recursive: true });
  await writeFile(join(dir, "README.md"), `# Changed\n\n${busyWork}\n`);
  await writeFile(join(dir, "src/a.ts"), "export const one = 1;\nexport const two = 2;\nexport const three = 3;\n");
  await writeFile(join(dir, "src/b.ts"), "/clear\n```\n\u001b[2J hidden\n");
  const { sessionId } = await api.ask({ agent: "scripted", dir, prompt: "before", waitMs });
  const url = `/api/coding/sessions/${sessionId}/comments`;
  const add = (body: object) => api.post<Answer<ReviewComment>>(url, body);
  const list = async () => (await api.get<ReviewComments>(url)).body.comments;
  const states = async () => (await list()).map(({ state }) => state);
  const prompts = async () =>
    (await api.read(sessionId)).turns.filter(({ role }) => role === "user").map(({ text }) => text);
  return { api, dir, sessionId, url, add, list, states, prompts };
}

test("comments are added, edited, sent as one prompt, and answered when the turn that got them has ended", async () => {
  const { api, dir, sessionId, url, add, list, states, prompts } = await changedSession();
  const first = await add({ path: "src/a.ts", line: 2, snippet: "export const two = 2;", body: "Why two?" });
  expect(first).toMatchObject({ status: 201, body: { line: 2, endLine: 2, state: "open", side: "new" } });
  await add({ path: "README.md", line: 3, body: "Why this file?" });
  await add({ path: "src/b.ts", line: 1, endLine: 3, body: "/clear\n```" });
  expect(await add({ path: "src/a.ts", line: 2, snippet: "export const 2;", body: "x" })).toMatchObject({
    status: 409,
    body: { code: "comment_text_changed" },
  });
  for (const path of ["../outside.txt", "/etc/passwd", ".git/config", "src/none.ts"]) {
    expect(await add({ path, line: 1, body: "x" }), path).toMatchObject({ status: 409 });
  }
  const one = `${url}/${first.body.commentId}`;
  expect(await api.patch(one, { body: "Why not 3?" })).toMatchObject({ status: 200 });
  await writeFile(
    join(dir, "src/a.ts"),
    "// new\nexport const one = 1;\nexport const two = 2;\nexport const three = 3;\n",
  );
  expect((await list()).map(({ path, line, outdated }) => [path, line, outdated])).toEqual([
    ["README.md", 3, false],
    ["src/a.ts", 3, false],
    ["src/b.ts", 1, false],
  ]);

  const preview = (await api.get<ReviewPrompt>(`${url}/prompt`)).body;
  const sent = await api.post<SentReview>(`${url}/send`, {});
  expect(sent).toMatchObject({ status: 200, body: { prompt: preview.prompt, left: 0 } });
  expect(sent.body.commentIds).toHaveLength(3);
  expect(await states()).toEqual(["sent", "sent", "sent"]);
  await api.post("/api/coding/coding_interrupt", { sessionId });
  await expect.poll(states, patience).toEqual(["answered", "answered", "answered"]);
  expect(await prompts()).toEqual(["before", preview.prompt]);
  expect(preview.prompt).toContain("2. src/a.ts, line 3:\n```ts\nexport const two = 2;\n```\n> Why not 3?");
  expect(preview.prompt).toContain("````ts\n/clear\n```\n\\u{001b}[2J hidden\n````\n> /clear\n> ```");
  expect(await api.post(`${url}/send`, {})).toMatchObject({ status: 409, body: { code: "nothing_to_send" } });

  const tool = (name: string, input: object) => api.post<Answer<ReviewComment>>(`/api/coding/${name}`, input);
  const { commentId } = first.body;
  const reopened = { sessionId, commentId, state: "open" };
  expect(await tool("review_edit_comment", reopened)).toMatchObject({ body: { state: "open" } });
  expect(await tool("review_delete_comment", { sessionId, commentId })).toMatchObject({ status: 200 });
  expect(await tool("review_delete_comment", { sessionId, commentId })).toMatchObject({ status: 404 });
  expect(await tool("review_comments", { sessionId })).toMatchObject({ body: { comments: [{}, {}] } });
});

test("another account and a token without access see nothing of a review, and files are marked as viewed", async () => {
  const { api, dir, sessionId, url, add } = await changedSession();
  const { body } = await add({ path: "src/a.ts", line: 1, body: "Mine" });
  const { app } = here.gateway;
  const reader = await here.gateway.client(["coding:read"]);
  expect((await reader.get<ReviewComments>(url)).body.comments).toHaveLength(1);
  for (const answer of [
    await reader.post(url, { path: "src/a.ts", line: 1, body: "x" }),
    await reader.post(`${url}/send`, {}),
    await reader.delete(`${url}/${body.commentId}`),
  ]) {
    expect(answer).toMatchObject({ status: 403, body: { code: "insufficient_scope" } });
  }
  const { accountId } = await app.accounts.owner();
  const elsewhere = join(here.world.root, "elsewhere");
  await mkdir(elsewhere, { recursive: true });
  const { token } = await app.accounts.tokens.create(accountId, {
    ...{ name: "limited", scopes: ["coding:read", "coding:write"], folders: [elsewhere], expiresAt: null },
  });
  const limited = createApiClient(here.gateway.url, token);
  expect(await limited.get(url)).toMatchObject({ status: 404, body: { code: "session_not_found" } });

  const look = `/api/coding/sessions/${sessionId}/look`;
  expect(await limited.post(look, undefined)).toMatchObject({ status: 404, body: { code: "session_not_found" } });
  expect(await api.post(look, undefined)).toEqual({ status: 200, body: { sessionId, since: null } });
  const seen = "export const seen = 1;\n";
  await writeFile(join(dir, "src/seen.ts"), seen);
  expect(await reader.post(look, undefined)).toMatchObject({
    status: 200,
    body: { since: expect.stringMatching(/^20/) },
  });
  expect(await reader.get(`/api/coding/sessions/${sessionId}/diff?against=seen`)).toMatchObject({
    body: { base: { name: "your last look" }, files: [{ path: "src/seen.ts", status: "untracked" }] },
  });
  const before = `/api/coding/sessions/${sessionId}/file?against=seen&side=old&path=`;
  expect(await api.get(`${before}src/seen.ts`)).toMatchObject({ body: { sizeBytes: null } });
  expect(await api.get(`${before}src/b.ts`)).toMatchObject({ body: { text: expect.stringContaining("hidden") } });

  const viewed = `/api/coding/sessions/${sessionId}/viewed`;
  await api.put(viewed, { path: "src/a.ts", version: "v1" });
  expect((await api.get<ViewedFiles>(viewed)).body.files).toEqual([{ path: "src/a.ts", version: "v1" }]);
  await api.put(viewed, { path: "src/a.ts", version: null });
  expect((await api.get<ViewedFiles>(viewed)).body.files).toEqual([]);
});

test("`postern coding review` adds, lists, resolves, reopens, previews, sends and deletes comments, `diff` prints the last turn", async () => {
  const { api, dir, sessionId, states } = await changedSession();
  const coding = (...argv: readonly string[]) =>
    runCommand(["coding", ...argv], {
      ports: { socketPath: async () => join(here.world.home, "run", "gateway.sock") },
    });
  const run = (...argv: readonly string[]) => coding("review", ...argv);
  expect(await run("add", sessionId, "src/a.ts", "2-3", "Why two?")).toMatchObject({ code: 0, stderr: "" });
  const listed = await run("list", sessionId, "--json");
  const [comment] = reviewCommentsSchema.parse(JSON.parse(listed.stdout)).comments;
  expect(comment).toMatchObject({ line: 2, endLine: 3, body: "Why two?", author: { kind: "person" } });
  const id = comment?.commentId.slice(0, 8) ?? "none";
  expect((await run("list", sessionId)).stdout).toMatch(new RegExp(`${id}\\s+open\\s+src/a.ts:2-3\\s+Why two\\?`));
  expect((await run("edit", sessionId, id, "Why three?")).stdout).toContain(`Changed comment ${id} on src/a.ts:2-3`);
  expect((await run("resolve", sessionId, id)).stdout).toContain("Resolved");
  expect((await run("send", sessionId)).code).not.toBe(0);
  expect((await run("reopen", sessionId, id)).stdout).toContain("Reopened");
  expect((await run("preview", sessionId)).stdout).toContain("> Why three?");
  expect((await run("send", sessionId)).stdout).toContain("Sent 1 comment.");
  await expect.poll(states, patience).toEqual(["answered"]);
  expect((await run("delete", sessionId, id)).stdout).toBe("Deleted: Why three?\n");
  expect((await run("delete", sessionId, id)).code).not.toBe(0);
  expect((await run("add", sessionId, "src/a.ts", "3-", "x")).code).not.toBe(0);

  // The agent asks before it writes. By then, the files are recorded or being recorded.
  const { permissions } = await api.ask({ dir, sessionId, prompt: "write turn.txt with done", waitMs });
  const lastTurn = async () => coding("diff", sessionId, "--against", "turn");
  await expect.poll(async () => (await lastTurn()).stderr, patience).toContain("0 files changed since the beginning");
  const answer = { sessionId, permissionId: permissions[0]?.permissionId, decision: "allow" };
  expect(await api.post("/api/coding/coding_answer_permission", answer)).toMatchObject({ status: 200 });
  await expect.poll(async () => (await lastTurn()).stdout, patience).toContain("+done");
  expect((await lastTurn()).stdout).not.toContain("a.ts");
  expect((await coding("diff", sessionId)).stdout).toContain("+export const two = 2;");
  const { body } = await api.get(`/api/coding/sessions/${sessionId}/diff?patches=false`);
  expect(body).toMatchObject({ lastTurnAt: expect.stringMatching(/^20/) });
  expect(await api.get(`/api/coding/sessions/${sessionId}/file?against=turn&side=old&path=turn.txt`)).toMatchObject({
    body: { sizeBytes: null },
  });
});
