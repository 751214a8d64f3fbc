import { createECDH } from "node:crypto";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SessionSummary } from "../../src/wire/coding.ts";
import type { Completions } from "../../src/wire/completion.ts";
import type { PushSubscriptionRecord } from "../../src/wire/push.ts";
import type { ListInput, ListOutput } from "../../src/wire/session-lists.ts";
import type { LabelList, Seen } from "../../src/wire/session-notes.ts";
import { readEvents } from "../support/event-reader.ts";
import { type ApiClient, createApiClient } from "../support/gateway.ts";
import { plantTranscript, untilListed } from "../support/planted-sessions.ts";
import { useGateway } from "../support/use-gateway.ts";

// What people note about sessions, through the routes of a whole gateway: also of a session that it never ran.

const here = useGateway({ agents: "scripted" });
const waitMs = 60_000;
const patience = { timeout: 60_000, interval: 100 };

const edit = (sessionId: string, edits: object, api: ApiClient = here.gateway.api) =>
  api.patch<SessionSummary & { readonly code: string }>(`/api/coding/sessions/${sessionId}`, edits);

async function listed(input: ListInput = {}, api: ApiClient = here.gateway.api): Promise<readonly SessionSummary[]> {
  return (await api.post<ListOutput>("/api/coding/coding_list_sessions", input)).body.sessions;
}

const idsOf = async (input: ListInput = {}) => (await listed(input)).map(({ sessionId }) => sessionId);

/** A client whose token is limited. */
async function limited(scopes: readonly ("coding:read" | "coding:write")[], folder?: string): Promise<ApiClient> {
  const { app, url } = here.gateway;
  const { accountId } = await app.accounts.owner();
  const folders = folder === undefined ? null : [folder];
  const { token } = await app.accounts.tokens.create(accountId, { name: "t", scopes, folders, expiresAt: null });
  return createApiClient(url, token);
}

test("a session of another program is renamed, pinned, labelled and archived, and everyone who follows hears of it", async () => {
  const { world, gateway } = here;
  const sessionId = await plantTranscript(world, { prompt: "Fix the redirect" });
  await untilListed(gateway.api, 1);
  const { token } = await gateway.app.accounts.tokens.create((await gateway.app.accounts.owner()).accountId, {
    ...{ name: "events", scopes: ["coding:read"], folders: null, expiresAt: null },
  });
  const reader = await readEvents(gateway.url, { token });
  const renamed = await edit(sessionId, {
    title: "  Redirect\n\u202eloop ",
    pinned: true,
    addLabels: ["Ünder  review", "urgent"],
  });
  expect(renamed).toMatchObject({
    status: 200,
    body: { sessionId, title: "Redirect loop", pinned: true, archived: false, labels: ["urgent", "ünder review"] },
  });
  expect(await gateway.api.read(sessionId)).toMatchObject({ title: "Redirect loop", labels: renamed.body.labels });
  const tool = "/api/coding/coding_edit_session";
  expect(await gateway.api.post(tool, { sessionId, removeLabels: ["URGENT"], archived: true })).toMatchObject({
    status: 200,
    body: { archived: true, labels: ["ünder review"] },
  });
  await edit(sessionId, { archived: true }); // nothing changes, nobody hears of it
  await edit(sessionId, { archived: false });
  const marks = () =>
    reader.events.flatMap((event) => (event.kind === "session.edited" ? [[event.pinned, event.archived]] : []));
  await expect.poll(marks, patience).toEqual([
    [true, false],
    [true, true],
    [true, false],
  ]);
  expect(JSON.stringify(reader.events)).not.toMatch(/loop|review/);
  expect((await gateway.api.get<LabelList>("/api/coding/labels")).body.labels).toEqual([
    { label: "ünder review", sessions: 1 },
  ]);
  expect((await edit(sessionId, { title: null })).body.title).toBe("Fix the redirect");
});

test("an archived session appears while its agent needs an answer, and a forgotten one loses its notes", async () => {
  const { world, gateway } = here;
  const { sessionId, permissions } = await gateway.api.ask({
    ...{ agent: "scripted", dir: world.repository, prompt: "write a.txt with leave", waitMs },
  });
  await edit(sessionId, { archived: true, addLabels: ["kept"] });
  expect(await idsOf()).toContain(sessionId);
  const permissionId = permissions[0]?.permissionId;
  await gateway.api.post("/api/coding/coding_answer_permission", { sessionId, permissionId, decision: "allow" });
  await expect.poll(() => idsOf(), patience).not.toContain(sessionId);
  expect(await idsOf({ archived: true })).toContain(sessionId);
  await gateway.api.post("/api/coding/coding_close_session", { sessionId });
  expect((await gateway.api.delete(`/api/coding/sessions/${sessionId}/traces`)).status).toBe(200);
  expect(await gateway.api.read(sessionId)).toMatchObject({ archived: false, labels: [] });
});

test("each account has its own unread sessions, and looking at one again writes nothing", async () => {
  const { world, gateway } = here;
  const owner = gateway.api;
  const asked = await owner.ask({ agent: "scripted", dir: world.repository, prompt: "say unread", waitMs });
  const { sessionId } = asked;
  const { accountId } = await gateway.app.accounts.directory.add({ name: "anna", scopes: ["coding:read"] });
  const { token } = await gateway.app.accounts.tokens.create(accountId, {
    ...{ name: "anna", scopes: ["coding:read"], folders: null, expiresAt: null },
  });
  const anna = createApiClient(gateway.url, token);
  const unread = async (api: ApiClient) => (await api.read(sessionId)).unread;
  await owner.ask({ sessionId, dir: world.repository, prompt: "say again", waitMs });
  expect([await unread(owner), await unread(anna)]).toEqual([true, true]);
  const seen = await owner.post<Seen>(`/api/coding/sessions/${sessionId}/seen`, undefined);
  expect(seen).toMatchObject({ status: 200, body: { sessionId, unread: false } });
  expect(await owner.post(`/api/coding/sessions/${sessionId}/seen`, undefined)).toEqual(seen);
  expect([await unread(owner), await unread(anna)]).toEqual([false, true]);
  await owner.ask({ sessionId, dir: world.repository, prompt: "say more", waitMs });
  expect(await unread(owner)).toBe(true);
});

test("changing needs coding:write on a session that the caller can see, and a label or title in bounds", async () => {
  const { world, gateway } = here;
  const dir = join(world.root, "elsewhere");
  await mkdir(dir);
  const before = (await listed({ limit: 200 })).length;
  const sessionId = await plantTranscript(world, { prompt: "Elsewhere", dir });
  await untilListed(gateway.api, before + 1);
  const reader = await limited(["coding:read"]);
  expect(await edit(sessionId, { pinned: true }, reader)).toMatchObject({ status: 403 });
  expect(await reader.post(`/api/coding/sessions/${sessionId}/seen`, undefined)).toMatchObject({ status: 200 });
  const inside = await limited(["coding:read", "coding:write"], world.repository);
  expect(await edit(sessionId, { pinned: true }, inside)).toMatchObject({
    status: 404,
    body: { code: "session_not_found" },
  });
  await edit(sessionId, { addLabels: ["secret"] });
  expect((await inside.get<LabelList>("/api/coding/labels")).body.labels.map(({ label }) => label)).not.toContain(
    "secret",
  );
  for (const [edits, status] of [
    [{}, 400],
    [{ title: "\u200b " }, 400],
    [{ title: "x".repeat(201) }, 400],
    [{ addLabels: ["x".repeat(51)] }, 400],
    [{ addLabels: Array.from({ length: 20 }, (_, at) => `l${at}`) }, 400],
    [{ color: "red" }, 400],
    [{ addLabels: ["x".repeat(50)] }, 200],
  ] as const) {
    expect((await edit(sessionId, edits)).status, JSON.stringify(edits)).toBe(status);
  }
  expect(await listed({ label: "secret" })).toMatchObject([{ sessionId, pinned: false, title: "Elsewhere" }]);
});

test("a token that is limited to a folder completes nothing above it, and has no draft of a new session", async () => {
  const { world, gateway } = here;
  const below = join(world.repository, "below");
  await mkdir(join(below, ".claude", "commands"), { recursive: true });
  await mkdir(join(world.repository, ".claude", "commands"), { recursive: true });
  await writeFile(join(world.repository, ".claude", "commands", "above-command.md"), "Above");
  await writeFile(join(below, ".claude", "commands", "below-command.md"), "Below");
  await writeFile(join(world.repository, "hidden-above.ts"), "");
  await writeFile(join(below, "shown-below.ts"), "");
  await symlink("../hidden-above.ts", join(below, "link-hidden.ts"));
  await symlink("..", join(below, "link-up"));
  const inside = await limited(["coding:read", "coding:write"], below);
  const complete = (query: Readonly<Record<string, string>>, api: ApiClient) =>
    api.get<Completions & { readonly code: string }>(
      `/api/coding/completions?${new URLSearchParams({ agent: "claude-code", kind: "file", limit: "100", ...query })}`,
    );
  const labels = async (query: Readonly<Record<string, string>>, api = inside) =>
    (await complete({ dir: below, ...query }, api)).body.items.map(({ label }) => label);
  await expect.poll(() => labels({}), patience).toContain("shown-below.ts");
  for (const q of ["", "hidden", "../hidden", "..", "link-up/hidden", "link", world.repository]) {
    expect(
      (await labels({ q })).filter((label) => /hidden|link|\.\./.test(label)),
      q,
    ).toEqual([]);
  }
  for (const dir of [world.repository, `${below}/..`, `${below}/link-up`]) {
    expect(await complete({ dir }, inside), dir).toMatchObject({ status: 403, body: { code: "dir_not_allowed" } });
  }
  const sessionId = await plantTranscript(world, { prompt: "In the repository" });
  await expect
    .poll(async () => (await gateway.api.get(`/api/coding/sessions/${sessionId}/draft`)).status, patience)
    .toBe(200);
  const ofSession = await inside.get<{ code: string }>(`/api/coding/completions?sessionId=${sessionId}&kind=file`);
  expect(ofSession).toMatchObject({ status: 404, body: { code: "session_not_found" } });
  const commands = { kind: "command", q: "command" };
  expect(await labels(commands)).toContain("/below-command");
  expect(await labels(commands)).not.toContain("/above-command");
  expect(await labels(commands, gateway.api)).toEqual(expect.arrayContaining(["/below-command", "/above-command"]));
  expect((await gateway.api.get("/api/coding/draft")).status).toBe(200);
  expect(await inside.get("/api/coding/draft")).toMatchObject({ status: 400, body: { code: "invalid_request" } });
  expect((await inside.get(`/api/coding/sessions/${sessionId}/draft`)).status).toBe(404);
});

test("a token sees and ends only the notifications that it subscribed, and those of no other account", async () => {
  const { gateway } = here;
  const path = "/api/push/subscriptions";
  const subscribe = async (api: ApiClient, name: string) => {
    const p256dh = createECDH("prime256v1").generateKeys().toString("base64url");
    const keys = { p256dh, auth: Buffer.alloc(16, name).toString("base64url") };
    const { status, body } = await api.post<PushSubscriptionRecord>(path, {
      endpoint: `https://8.8.8.8/${name}`,
      keys,
      name,
    });
    expect(status).toBe(201);
    return body.subscriptionId;
  };
  const names = async (api: ApiClient) =>
    (await api.get<{ subscriptions: readonly PushSubscriptionRecord[] }>(path)).body.subscriptions.map(
      ({ name }) => name,
    );
  const { accountId } = await gateway.app.accounts.directory.add({ name: "berta", scopes: ["coding:read"] });
  const { token } = await gateway.app.accounts.tokens.create(accountId, {
    ...{ name: "berta", scopes: ["coding:read"], folders: null, expiresAt: null },
  });
  const berta = createApiClient(gateway.url, token);
  const inside = await limited(["coding:read"], here.world.repository);
  const mine = await subscribe(gateway.api, "mine");
  await subscribe(berta, "hers");
  await subscribe(inside, "limited");
  expect([await names(gateway.api), await names(berta), await names(inside)]).toEqual([
    ["mine"],
    ["hers"],
    ["limited"],
  ]);
  for (const api of [berta, inside]) {
    for (const attempt of [api.delete(`${path}/${mine}`), api.post(`${path}/${mine}/test`, undefined)]) {
      expect(await attempt).toMatchObject({ status: 404, body: { code: "push_subscription_not_found" } });
    }
    expect(await api.get("/api/push/preferences")).toMatchObject({ status: 403 });
  }
  expect(await names(gateway.api)).toEqual(["mine"]);
});
