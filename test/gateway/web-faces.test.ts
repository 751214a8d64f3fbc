import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Scope } from "../../src/wire/access.ts";
import { type ApiClient, createApiClient } from "../support/gateway.ts";
import { bearer, openTerminal } from "../support/terminal-client.ts";
import { useGateway } from "../support/use-gateway.ts";

// An agent that does nothing: what is seen here is the gateway's own.
const plain = { name: "plain", binary: "/bin/cat", startArgs: [], loginArgs: ["-"] };
const used = useGateway({ agents: false, config: { agents: [plain, { ...plain, name: "silent", loginArgs: [] }] } });
const patience = { timeout: 30_000, interval: 100 };

/** A PNG of one pixel. */
const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

async function limitedTo(folders: readonly string[], scopes: readonly Scope[] = ["coding:read"]): Promise<ApiClient> {
  const { accounts } = used.gateway.app;
  const { accountId } = await accounts.owner();
  const wanted = { name: "limited", scopes, folders, expiresAt: null } as const;
  return createApiClient(used.gateway.url, (await accounts.tokens.create(accountId, wanted)).token);
}

test("agents are taken off, configured, made the default, and logged in inside a terminal", async () => {
  const { gateway } = used;
  const admin = await gateway.client(["admin", "coding:read"]);
  const headers = await bearer(gateway.app, "admin", "coding:read", "coding:drive");
  const names = async () => {
    const { body } = await gateway.api.get<Agents>("/api/agents");
    return { configured: body.agents.map(({ name }) => name), default: body.default };
  };
  expect(await names()).toEqual({ configured: ["plain", "silent"], default: null });
  const removed = await fetch(`${gateway.url}/api/agents/plain`, { method: "DELETE", headers });
  expect(removed.status).toBe(200);
  expect(await names()).toEqual({ configured: ["silent"], default: null });
  expect(await admin.post("/api/agents/plain", { isDefault: true })).toMatchObject({ body: { default: "plain" } });
  expect(await admin.post("/api/agents/plain", { binary: "/bin/sh" })).toMatchObject({ status: 200 });
  // What is not said stays as it is.
  const changed = await admin.post<Agents>("/api/agents/silent", { isDefault: true });
  expect(changed.body.agents.map(({ name, binary }) => [name, binary])).toEqual([
    ["plain", "/bin/sh"],
    ["silent", "/bin/cat"],
  ]);
  await admin.post("/api/agents/plain", { isDefault: true });
  expect((await gateway.app.agents.resolve("plain")).binary).toBe("/bin/sh");
  await admin.post("/api/agents/plain", { binary: null });
  for (const [path, body, status, code] of [
    ["plain", { binary: "cat" }, 400, "invalid_request"],
    ["plain", { binary: "/bin/missing" }, 422, "agent_binary_missing"],
    ["nobody", {}, 404, "agent_unknown"],
    ["silent/login", {}, 400, "invalid_request"],
  ] as const) {
    expect(await admin.post(`/api/agents/${path}`, body)).toMatchObject({ status, body: { code } });
  }
  expect(await gateway.api.post("/api/agents/plain", {})).toMatchObject({ status: 403 });
  expect(await gateway.api.post("/api/agents/plain/login", {})).toMatchObject({ status: 403 });

  const { body: login } = await admin.post<{ sessionId: string; began: boolean }>("/api/agents/plain/login", {});
  expect(login.began).toBe(true);
  expect((await admin.post("/api/agents/plain/login", {})).body).toEqual({ ...login, began: false });
  const viewer = openTerminal({ url: gateway.url, headers, query: { session_id: login.sessionId } });
  await once(viewer.ws, "open");
  viewer.type("the code\r");
  await expect.poll(async () => (await viewer.screen()).join("\n"), patience).toContain("the code");
  viewer.type("\x04"); // its end of input
  expect(await viewer.closed).toMatchObject({ code: 1000 });
});

test("what a session changed and what its close would do, by the folder rule", async () => {
  const { gateway, world } = used;
  const { api, app } = gateway;
  const spawned = await api.post<{ sessionId: string }>("/api/coding/spawn", {
    agent: "plain",
    dir: world.repository,
    worktree: true,
    branch: "feat/faces",
    baseBranch: "main",
  });
  const { sessionId } = spawned.body;
  const path = join(world.root, "feat-faces");
  await writeFile(join(path, "new.txt"), "new\n");
  const changed = { root: path, base: { name: "main" }, files: [{ path: "new.txt", status: "untracked" }] };
  const diff = `/api/coding/sessions/${sessionId}/diff`;
  expect(await api.get(diff)).toMatchObject({ status: 200, body: changed });
  expect(await api.get(`/api/coding/sessions/${sessionId}/close-preview`)).toMatchObject({
    status: 200,
    body: { worktree: { path, branch: "feat/faces", files: 1, keepsBecause: null } },
  });
  const file = (query: Readonly<Record<string, string>>, client = api) =>
    client.get(`/api/coding/sessions/${sessionId}/file?${new URLSearchParams(query)}`);
  const gone = { status: 200, body: { sizeBytes: null, text: null, imageType: null } };
  expect(await file({ path: "new.txt" })).toEqual({
    status: 200,
    body: { path: "new.txt", side: "new", sizeBytes: 4, text: "new\n", imageType: null },
  });
  expect(await file({ path: "new.txt", side: "old" })).toMatchObject(gone);
  const readme = await readFile(join(world.repository, "README.md"), "utf8");
  for (const side of ["new", "old"]) {
    expect(await file({ path: "README.md", side, against: "head" })).toMatchObject({ body: { text: readme, side } });
  }
  await symlink("/etc/passwd", join(path, "link"));
  for (const outside of ["../project/README.md", "/etc/passwd", ".git", "link", "src/../new.txt"]) {
    for (const side of ["new", "old"]) expect(await file({ path: outside, side }), outside).toMatchObject(gone);
  }
  await writeFile(join(path, "drawing.png"), pixel);
  await writeFile(join(path, "drawing.svg"), "<svg xmlns='http://www.w3.org/2000/svg'/>");
  expect(await file({ path: "drawing.png" })).toMatchObject({
    body: { sizeBytes: pixel.length, imageType: "image/png", text: null },
  });
  const headers = await bearer(app, "coding:read");
  const image = (name: string) =>
    fetch(`${gateway.url}/api/coding/sessions/${sessionId}/file/image?path=${name}`, { headers });
  const served = await image("drawing.png");
  expect(Buffer.from(await served.arrayBuffer())).toEqual(pixel);
  expect(Object.fromEntries(served.headers)).toMatchObject({
    "content-type": "image/png",
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
  for (const name of ["drawing.svg", "new.txt", "none.png"]) expect((await image(name)).status, name).toBe(404);
  for (const name of ["link", "drawing.png", "drawing.svg"]) await rm(join(path, name));
  const branches = await api.get<{ branches: string[] }>(`/api/coding/branches?dir=${world.repository}`);
  expect(branches.body).toMatchObject({ repository: world.repository, current: "main" });
  expect(branches.body.branches.toSorted()).toEqual(["feat/faces", "main"]);
  // A worktree counts as its repository.
  expect(await api.get("/api/coding/dirs")).toMatchObject({ body: { dirs: [{ dir: world.repository, sessions: 1 }] } });
  expect(await api.get(`/api/folders/complete?path=${world.root}/proj`)).toEqual({
    status: 200,
    body: { directories: [{ path: world.repository, isRepository: true }], truncated: false },
  });
  expect(await api.get("/api/folders/complete?path=~/proj")).toMatchObject({
    body: { directories: [{ path: world.repository }] },
  });

  const elsewhere = join(world.root, "elsewhere");
  await mkdir(elsewhere);
  const limited = await limitedTo([elsewhere]);
  expect(await limited.get(diff)).toMatchObject({ status: 404, body: { code: "session_not_found" } });
  expect(await file({ path: "new.txt" }, limited)).toMatchObject({ status: 404, body: { code: "session_not_found" } });
  expect(await limited.get(`/api/coding/branches?dir=${world.repository}`)).toMatchObject({ status: 403 });
  expect(await limited.get("/api/coding/dirs")).toMatchObject({ body: { dirs: [] } });
  expect(await limited.get(`/api/folders/complete?path=${world.root}/`)).toMatchObject({
    body: { directories: [{ path: elsewhere }] },
  });

  await app.folders.add(world.repository, ["coding"]);
  expect(await api.get(diff)).toMatchObject({ status: 403, body: { code: "dir_not_allowed" } });
  expect(await file({ path: "new.txt" })).toMatchObject({ status: 403, body: { code: "dir_not_allowed" } });
  await app.folders.add(world.repository, ["coding", "files"]);
  await mkdir(join(world.repository, "private"));
  await app.folders.add(join(world.repository, "private"), ["coding"]);
  await mkdir(join(path, "private"));
  await writeFile(join(path, "private", "plan.txt"), "plan\n");
  expect(await api.get<{ files: unknown[] }>(diff)).toMatchObject({ status: 200, body: changed });
  expect(await file({ path: "private/plan.txt" })).toMatchObject(gone);
  for (const folder of await app.folders.list()) await app.folders.remove(folder.path);

  await api.post("/api/coding/coding_close_session", { sessionId });
  expect(await api.get(`/api/coding/sessions/${sessionId}/close-preview`)).toEqual({
    status: 200,
    body: { worktree: null },
  });
  // Its branch has nothing of its own; what was new is rescued.
  expect(await api.get(diff)).toMatchObject({ status: 200, body: { root: path, files: [] } });
  expect(await api.get("/api/coding/sessions/none/diff")).toMatchObject({ status: 404 });
});

test("a rescue and a close name no file above a token's folder, as the diff names none", async () => {
  const { gateway, world } = used;
  const { api } = gateway;
  const inner = join(world.repository, "inner");
  await mkdir(inner);
  await writeFile(join(inner, "kept.txt"), "kept\n");
  const git = (...args: readonly string[]) => promisify(execFile)("git", ["-C", world.repository, ...args]);
  await git("add", "inner");
  await git("-c", "user.name=Test", "-c", "user.email=test@example.invalid", "commit", "--quiet", "--message=Inner");
  const { body } = await api.post<{ sessionId: string }>("/api/coding/spawn", {
    agent: "plain",
    dir: inner,
    worktree: true,
    branch: "feat/inner",
    baseBranch: "main",
  });
  const { sessionId } = body;
  const path = join(world.root, "feat-inner");
  const write = async (text: string): Promise<void> => {
    for (const file of ["above.txt", "inner/within.txt"]) await writeFile(join(path, file), text);
  };
  await write("one\n");
  await writeFile(join(path, ".gitignore"), "*.log\n");
  for (const file of ["above.log", "inner/within.log"]) await writeFile(join(path, file), "lost\n");
  const limited = await limitedTo([inner], ["coding:read", "coding:write"]);
  const diff = await limited.get<{ files: { path: string }[] }>(`/api/coding/sessions/${sessionId}/diff`);
  expect(diff.body.files.map((file) => file.path)).toEqual(["inner/within.txt"]);
  expect(await limited.post("/api/coding/coding_close_session", { sessionId })).toMatchObject({
    status: 200,
    body: { worktree: { removed: true, ignoredLost: { count: 2, first20: ["inner/within.log"] } } },
  });
  const show = (client: ApiClient) => client.post("/api/coding/rescue_show", { sessionId });
  expect(await show(limited)).toMatchObject({
    status: 200,
    body: { pathCount: 1, paths: [{ path: "inner/within.txt" }] },
  });
  expect(await show(api)).toMatchObject({ status: 200, body: { pathCount: 3 } });
  const restore = () => limited.post("/api/coding/rescue_restore", { sessionId });
  expect(await restore()).toMatchObject({ status: 200, body: { restored: ["inner/within.txt"], restoredCount: 3 } });
  await write("two\n");
  const refused = await restore();
  expect(refused).toMatchObject({ status: 409, body: { code: "worktree_conflict" } });
  expect(JSON.stringify(refused.body)).toContain("inner/within.txt");
  expect(JSON.stringify(refused.body)).not.toContain("above");
});

interface Agents {
  readonly agents: readonly { readonly name: string; readonly binary: string }[];
  readonly default: string | null;
}
