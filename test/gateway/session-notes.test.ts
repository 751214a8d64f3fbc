import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SessionSummary } from "../../src/wire/coding.ts";
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
