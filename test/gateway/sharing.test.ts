import { mkdtemp, readFile, realpath, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Scope } from "../../src/wire/access.ts";
import type { ForkSessionOutput } from "../../src/wire/forks.ts";
import type { CreatedShare, ShareList } from "../../src/wire/sharing.ts";
import { turnSchema } from "../../src/wire/turn.ts";
import { createApiClient } from "../support/gateway.ts";
import { plantTranscript } from "../support/planted-sessions.ts";
import { runCommand } from "../support/run-cli.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });

const key = `ghp_${"a1B2".repeat(9)}`;
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function tokenOf(scopes: readonly Scope[], folders: readonly string[] | null = null) {
  const { accounts } = used.gateway.app;
  const { accountId } = await accounts.owner();
  return accounts.tokens.create(accountId, { name: "t", scopes, folders, expiresAt: null });
}

/** With secrets in a prompt, an answer, a file's name, a member's name and an output, and an answer that forges a turn. */
function plant(): Promise<string> {
  return plantTranscript(used.world, {
    prompt: [
      { type: "text", text: `deploy with ${key}` },
      { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
    ],
    blocks: [
      { type: "text", text: `Done.\n\n## You\n\n![x](https://evil.example/a.png) <script>alert(1)</script> ${key}` },
      {
        type: "tool_use",
        id: "t1",
        name: "Write",
        input: { file_path: `/tmp/${key}.txt`, password: "hunter22", content: "x" },
      },
    ],
    results: { t1: `\u001b[32mwrote\u001b[0m ${key.slice(0, 8)}\u001b[0m${key.slice(8)}` },
  });
}

async function exported(sessionId: string, format: string, token?: string) {
  const shown = token ?? (await tokenOf(["coding:read"])).token;
  const response = await fetch(`${used.gateway.url}/api/coding/sessions/${sessionId}/export?format=${format}`, {
    headers: { authorization: `Bearer ${shown}` },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test("a conversation is exported in each format, without secrets", async () => {
  const sessionId = await plant();
  const markdown = await exported(sessionId, "markdown");
  expect(markdown.headers.get("content-disposition")).toMatch(/^attachment; filename="session-[\w-]+\.md"$/);
  expect(markdown.text.match(/^## .*/gm)).toEqual([
    expect.stringMatching(/^## You/),
    expect.stringMatching(/^## Claude Code/),
  ]);
  expect(markdown.text).not.toMatch(/!\[|(?<!\\)<script/);
  const html = await exported(sessionId, "html");
  expect(html.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(html.headers.get("content-disposition")).toMatch(/^attachment/);
  expect(html.text).toContain(`<img alt="Image in the prompt" src="data:image/png;base64,${pixel}">`);
  expect(html.text).toContain("wrote [masked]");
  expect(html.text).toContain("default-src 'none'");
  expect(html.text).not.toMatch(/<script|src="http|<link|url\(/);
  const json = await exported(sessionId, "json");
  const { session, turns } = z
    .object({ session: z.object({ sessionId: z.string(), agent: z.string() }), turns: z.array(turnSchema) })
    .parse(JSON.parse(json.text));
  expect(session).toMatchObject({ sessionId, agent: "Claude Code" });
  expect(turns.map(({ index }) => index)).toEqual([0, 1]);
  for (const { text } of [markdown, html, json]) {
    expect(text).toContain("[masked]");
    expect(text).not.toContain(key.slice(6));
    expect(text).not.toContain("hunter22");
    expect(text).not.toContain("\u001b");
  }
  expect(await exported("missing", "html")).toMatchObject({ status: 404 });
  expect(await exported(sessionId, "pdf")).toMatchObject({ status: 400 });
  expect((await exported(sessionId, "html", (await tokenOf(["coding:write"])).token)).status).toBe(403);
});

test("a link shows one conversation to anyone until it is revoked, and the audit log has it", async () => {
  const sessionId = await plant();
  const path = `/api/coding/sessions/${sessionId}`;
  const { token } = await tokenOf(["coding:read"]);
  const api = createApiClient(used.gateway.url, token);
  expect(await api.post(`${path}/share`, { expiresIn: 59 })).toMatchObject({ status: 400 });
  const { status, body: share } = await api.post<CreatedShare>(`${path}/share`, { expiresIn: 3_600 });
  expect(status).toBe(201);
  expect(new URL(share.url).pathname).toMatch(/^\/share\/[\w-]{43}$/);
  const { pathname } = new URL(share.url);
  const open = async (accept = "text/html") => {
    const response = await fetch(`${used.gateway.url}${pathname}`, { headers: { accept } });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const page = await open();
  expect(page.status).toBe(200);
  expect(page.text).toContain("deploy with [masked]");
  expect(page.text).not.toContain(used.world.repository);
  const sent = Object.fromEntries(page.headers);
  expect(sent).toMatchObject({
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex, nofollow",
    "x-frame-options": "DENY",
    "content-security-policy": expect.stringMatching(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:.*sandbox/,
    ),
  });
  expect((await api.get<ShareList>(`${path}/shares`)).body.shares).toMatchObject([
    { shareId: share.shareId, opens: 1 },
  ]);
  expect(JSON.stringify((await api.get(`${path}/shares`)).body)).not.toContain(pathname.slice(7));

  const withSecret = createApiClient(used.gateway.url, pathname.slice("/share/".length));
  expect(await withSecret.get(`${path}/shares`), "the secret is no token").toMatchObject({ status: 401 });
  expect((await withSecret.post("/api/coding/terminal-ticket", { sessionId })).status).toBe(401);
  expect((await withSecret.post("/api/coding/coding_ask", { sessionId, prompt: "x" })).status).toBe(401);

  const revoke = (session = sessionId) =>
    fetch(`${used.gateway.url}/api/coding/sessions/${session}/shares/${share.shareId}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${token}` },
    });
  expect((await revoke(await plant())).status, "a link of another session").toBe(404);
  expect((await open()).status).toBe(200);
  expect((await revoke()).status).toBe(204);
  expect((await revoke()).status).toBe(404);
  expect(await open()).toMatchObject({ status: 404, text: expect.stringContaining("Link not available") });
  expect(await open("application/json")).toMatchObject({
    status: 404,
    text: expect.stringContaining("share_not_found"),
  });
  const { entries } = await used.gateway.app.accounts.audit.page({ limit: 10, kind: "share" });
  expect(entries.filter(({ subject }) => subject === share.shareId).map(({ action }) => action)).toEqual([
    "share_revoked",
    "share_opened",
    "share_created",
  ]);
});

test("a link ends with the token that made it, and its folders", async () => {
  const sessionId = await plant();
  const path = `/api/coding/sessions/${sessionId}/share`;
  const elsewhere = await tokenOf(["coding:read"], [used.world.home]);
  const outside = createApiClient(used.gateway.url, elsewhere.token);
  expect(await outside.post(path, { expiresIn: 3_600 })).toMatchObject({ status: 404 });
  const { token, record } = await tokenOf(["coding:read"], [used.world.repository]);
  const { body } = await createApiClient(used.gateway.url, token).post<CreatedShare>(path, { expiresIn: 3_600 });
  const status = async () => (await fetch(`${used.gateway.url}${new URL(body.url).pathname}`)).status;
  expect(await status()).toBe(200);
  const { accounts } = used.gateway.app;
  await accounts.tokens.revoke((await accounts.owner()).accountId, record.tokenId);
  expect(await status()).toBe(404);
});

test("a link ends when its session is forgotten", async () => {
  const sessionId = await plant();
  const api = await used.gateway.client(["coding:read", "coding:drive"]);
  const { body } = await api.post<CreatedShare>(`/api/coding/sessions/${sessionId}/share`, { expiresIn: 3_600 });
  const { token } = await tokenOf(["coding:drive"]);
  const forgotten = await fetch(`${used.gateway.url}/api/coding/sessions/${sessionId}/traces`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${token}` },
  });
  expect(forgotten.status).toBe(200);
  expect((await fetch(`${used.gateway.url}${new URL(body.url).pathname}`)).status).toBe(404);
});

test("the command line writes a file for its user alone, and makes, lists and revokes links", async () => {
  const sessionId = await plant();
  const { home, root } = used.world;
  const ports = { socketPath: async () => join(home, "run", "gateway.sock") };
  const postern = (...argv: readonly string[]) => runCommand(["coding", ...argv], { ports, cwd: root });
  const path = join(root, "out.html");
  expect(await postern("export", sessionId, "--format", "html", "-o", path)).toMatchObject({ code: 0 });
  expect(await readFile(path, "utf8")).toMatch(/^<!doctype html>[^]*<\/html>\n$/);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await postern("export", sessionId, "-o", path)).toMatchObject({ code: 2 });
  expect((await postern("export", sessionId)).stdout).toContain("## Claude Code");
  const shared = await postern("share", sessionId, "--expires", "7d", "--json");
  const share: CreatedShare = JSON.parse(shared.stdout);
  expect((await postern("share", sessionId, "--list")).stdout).toContain(share.shareId);
  expect(await postern("share", sessionId, "--revoke", share.shareId)).toMatchObject({ code: 0 });
  expect((await fetch(`${used.gateway.url}${new URL(share.url).pathname}`)).status).toBe(404);
});

test("a session is forked from a turn, in its folder and in a worktree, and only by those who can read it", async () => {
  const { api, url } = used.gateway;
  const dir = used.world.repository;
  const first = await api.ask({ agent: "scripted", dir, prompt: `first question ${key}`, waitMs: 60_000 });
  const { sessionId } = first;
  await api.ask({ dir, sessionId, prompt: "second question", waitMs: 60_000 });
  await writeFile(join(dir, "README.md"), "# Changed by the session\n");
  const path = `/api/coding/sessions/${sessionId}/fork`;
  const { token } = await tokenOf(["coding:read"]);

  const fork = async (body: object) => {
    const { status, body: answer } = await api.post<ForkSessionOutput>(path, { waitMs: 60_000, ...body });
    expect(status, JSON.stringify(answer)).toBe(200);
    const { turns } = await api.read(answer.sessionId);
    const files = new Map<string, string>();
    for (const { attachmentId, name } of turns[0]?.attachments ?? []) {
      const file = await fetch(`${url}/api/coding/attachments/${attachmentId}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      files.set(name, await file.text());
    }
    return { answer, prompt: turns[0]?.text ?? "", files };
  };

  const early = await fork({ turn: 1, prompt: "go another way" });
  expect(early.answer).toMatchObject({ agent: "scripted", dir, forkedFrom: { sessionId, turn: 1, patch: false } });
  expect(early.answer.sessionId).not.toBe(sessionId);
  expect(early.prompt).toMatch(/^go another way\n[^]* up to turn 1\. /);
  const known = early.files.get("conversation.md");
  expect(known).toContain("first question \\[masked]");
  expect(known).not.toMatch(new RegExp(`second question|${key}`));

  const apart = await fork({ worktree: true });
  expect(apart.answer.forkedFrom).toEqual({ sessionId, turn: 3, leftOut: 0, patch: true });
  expect(apart.answer.worktree?.branch).toEqual(expect.any(String));
  expect(apart.prompt).toContain("Summarize in a few sentences");
  expect(apart.files.get("conversation.md")).toContain("second question");
  expect(apart.files.get("changes.patch")).toMatch(
    /^diff --git a\/README.md b\/README.md\n[^]*\+# Changed by the session$/m,
  );
  expect((await api.read(sessionId)).turns).toHaveLength(4);

  expect(await api.post(path, { turn: 4 })).toMatchObject({ status: 400, body: { code: "invalid_request" } });
  const as = async (...given: Parameters<typeof tokenOf>) =>
    createApiClient(url, (await tokenOf(...given)).token).post(path, {});
  expect(await as(["coding:write"])).toMatchObject({ status: 403, body: { code: "insufficient_scope" } });
  const elsewhere = await realpath(await mkdtemp(join(used.world.root, "elsewhere-")));
  expect(await as(["coding:read", "coding:write"], [elsewhere])).toMatchObject({
    status: 404,
    body: { code: "session_not_found" },
  });

  const ports = { socketPath: async () => join(used.world.home, "run", "gateway.sock") };
  const argv = ["coding", "fork", sessionId, "--turn", "1", "and a third way"];
  const command = await runCommand(argv, { ports, cwd: used.world.root });
  expect(command).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`Forked from session ${sessionId} after turn 1.`),
  });
});
