import { expect, test } from "vitest";
import type { CancelledPrompt, ChangedPrompt, PromptQueueOutput } from "../../src/wire/queue.ts";
import { echoOf } from "../model-server/script.ts";
import { readEvents } from "../support/event-reader.ts";
import type { ApiClient } from "../support/gateway.ts";
import { picture } from "../support/pictures.ts";
import { uploader } from "../support/upload.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const waitMs = 30_000;
/** The model takes so long for it that only an interrupt ends it. */
const busyWork = "slow 600000 long work";
const patience = { timeout: 60_000, interval: 50 };

/** A session whose turn runs until it is interrupted, and what can be done with its queue. */
async function busySession() {
  const { api } = used.gateway;
  const dir = used.world.repository;
  const { sessionId } = await api.ask({ agent: "scripted", dir, prompt: "before", waitMs });
  await api.ask({ dir, sessionId, prompt: busyWork });
  await expect.poll(async () => (await api.read(sessionId)).activity, patience).toBe("working");
  const url = `/api/coding/sessions/${sessionId}/prompts`;
  const queue = async () => (await api.get<PromptQueueOutput>(url)).body.prompts;
  const texts = async () => (await queue()).map(({ text }) => text);
  const idOf = async (text: string) => (await queue()).find((prompt) => prompt.text === text)?.promptId ?? "none";
  async function add(...prompts: readonly string[]): Promise<void> {
    for (const prompt of prompts) await api.ask({ dir, sessionId, prompt });
  }
  const change = async (text: string, body: object) => api.patch<ChangedPrompt>(`${url}/${await idOf(text)}`, body);
  const said = async () =>
    (await api.read(sessionId)).turns.filter(({ role }) => role === "user").map(({ text }) => text);
  const close = () => api.post("/api/coding/coding_close_session", { sessionId });
  return { api, sessionId, dir, url, queue, texts, idOf, add, change, said, close };
}

test("what waits is listed, edited, moved and cancelled, and the agent gets what is left in that order", async () => {
  const { api, sessionId, url, queue, texts, idOf, add, change, said, close } = await busySession();
  await add("one", "two", "three", "four");
  expect(await queue()).toMatchObject([
    { position: 0, text: "one", kind: "text" },
    { position: 1, text: "two" },
    { position: 2, text: "three" },
    { position: 3, text: "four" },
  ]);
  expect((await change("three", { position: 0 })).body.prompts.map(({ text }) => text)).toEqual([
    ...["three", "one", "two", "four"],
  ]);
  expect(await change("two", { text: "  the second\r\n" })).toMatchObject({
    status: 200,
    body: { deliveryState: "queued", prompts: [{}, {}, { text: "the second" }, {}] },
  });
  const cancelled = await api.delete<CancelledPrompt>(`${url}/${await idOf("one")}`);
  expect(cancelled.body.cancelled).toMatchObject({ text: "one", position: 1 });
  expect(await texts()).toEqual(["three", "the second", "four"]);
  expect((await change("four", { position: 999 })).body.prompts.at(-1)?.text).toBe("four");
  await api.post("/api/coding/coding_interrupt", { sessionId });
  await expect.poll(said, patience).toEqual(["before", busyWork, "three", "the second", "four"]);
  expect(await texts()).toEqual([]);
  expect(await api.delete(`${url}/${cancelled.body.cancelled.promptId}`)).toMatchObject({
    status: 409,
    body: { code: "prompt_already_sent" },
  });
  expect(await api.patch(`${url}/nothing`, { position: 0 })).toMatchObject({
    status: 404,
    body: { code: "prompt_not_found" },
  });
  await close();
});

test("what waits shows its files, and a cancelled prompt is queued again with them, in its place", async () => {
  const { api, sessionId, dir, url, queue, texts, idOf, add, close } = await busySession();
  const { upload } = uploader(used.gateway);
  const attachmentId = String((await upload("seen.png", picture(3))).body["attachmentId"]);
  await add("one");
  const asked = await api.ask({ dir, sessionId, prompt: "two", attachments: [attachmentId] });
  await add("three");
  expect(asked.promptId).toBe(await idOf("two"));
  const shown = { attachmentId, name: "seen.png", mediaType: "image/png", sizeBytes: picture(3).length };
  const [, two] = await queue();
  expect(two).toMatchObject({ attachments: [shown] });
  expect(Object.keys(two?.attachments[0] ?? {}).toSorted()).toEqual([...Object.keys(shown), "sha256"].toSorted());
  const { cancelled } = (await api.delete<CancelledPrompt>(`${url}/${asked.promptId}`)).body;
  expect(cancelled).toMatchObject({ position: 1, attachments: [shown] });
  const attachments = cancelled.attachments.map((file) => file.attachmentId);
  const again = await api.ask({ dir, sessionId, prompt: cancelled.text, attachments });
  expect(await api.patch(`${url}/${again.promptId}`, { position: cancelled.position })).toMatchObject({ status: 200 });
  expect(await texts()).toEqual(["one", "two", "three"]);
  expect((await queue())[1]?.attachments).toMatchObject([shown]);
  await close();
});

test("a prompt that is sent now stops the turn, goes first, and its own turn runs on", async () => {
  const { api, sessionId, add, change, said, texts, close } = await busySession();
  await add("one", "slow 1500 two");
  const sent = await change("slow 1500 two", { sendNow: true });
  expect(sent).toMatchObject({ status: 200, body: { sessionId } });
  await expect.poll(said, patience).toEqual(["before", busyWork, "slow 1500 two", "one"]);
  expect(await texts()).toEqual([]);
  const answers = async () => (await api.read(sessionId)).turns.map(({ text }) => text);
  await expect.poll(answers, patience).toContain(echoOf("slow 1500 two"));
  await close();
});

test("a change is checked as a new prompt is, and a refused one changes nothing", async () => {
  const { api, sessionId, dir, url, add, change, texts, idOf, close } = await busySession();
  await add("keep me");
  for (const text of ["/clear", "!rm -rf x", "a\u0007b", "  "]) {
    expect(await change("keep me", { text }), text).toMatchObject({ status: 400, body: { code: "prompt_not_text" } });
  }
  expect(await change("keep me", {})).toMatchObject({ status: 400, body: { code: "invalid_request" } });
  expect(await change("keep me", { position: -1 })).toMatchObject({ status: 400, body: { code: "invalid_request" } });
  const reader = await used.gateway.client(["coding:read"]);
  expect((await reader.get<PromptQueueOutput>(url)).body.prompts).toHaveLength(1);
  const refused = await reader.patch(`${url}/${await idOf("keep me")}`, { text: "other" });
  expect(refused).toMatchObject({ status: 403, body: { code: "insufficient_scope" } });
  expect((await reader.delete(`${url}/${await idOf("keep me")}`)).status).toBe(403);
  // Another credential of the same account, which cannot answer permission requests.
  const writer = await used.gateway.client(["coding:read", "coding:write"]);
  const kept = `${url}/${await idOf("keep me")}`;
  for (const body of [{ text: "other" }, { position: 0 }, { sendNow: true }]) {
    const answer = await writer.patch(kept, body);
    expect(answer).toMatchObject({ status: 403, body: { code: "insufficient_scope", scope: "coding:drive" } });
  }
  expect(await writer.delete(kept)).toMatchObject({ status: 403, body: { code: "insufficient_scope" } });
  await writer.ask({ dir, sessionId, prompt: "of the writer" });
  const changes = async (of: ApiClient) =>
    (await of.get<PromptQueueOutput>(url)).body.prompts.map(({ text, canChange }) => [text, canChange]);
  expect(await changes(writer)).toEqual([
    ["keep me", false],
    ["of the writer", true],
  ]);
  expect(await changes(api)).toEqual([
    ["keep me", true],
    ["of the writer", true],
  ]);
  const own = `${url}/${await idOf("of the writer")}`;
  expect(await writer.patch(own, { text: "edited" })).toMatchObject({ status: 200 });
  expect(await writer.delete(own)).toMatchObject({ status: 200 });
  await writer.ask({ dir, sessionId, prompt: "of the writer" });
  expect(await api.delete(`${url}/${await idOf("of the writer")}`)).toMatchObject({ status: 200 });
  expect(await texts()).toEqual(["keep me"]);
  await close();
});

test("each change of the queue is one event, and none of them is false", async () => {
  const { api, sessionId, add, change, texts, url, idOf, said, close } = await busySession();
  const { accountId } = await used.gateway.app.accounts.owner();
  const { token } = await used.gateway.app.accounts.tokens.create(accountId, {
    ...{ name: "events", scopes: ["coding:read"], folders: null, expiresAt: null },
  });
  const { events } = await readEvents(used.gateway.url, { token, sessionId });
  const counts = () => events.flatMap((event) => (event.kind === "session.queue_changed" ? [event.queuedPrompts] : []));
  await add("one", "two");
  await expect.poll(counts, patience).toEqual([1, 2]);
  await change("two", { position: 0 });
  await expect.poll(counts, patience).toEqual([1, 2, 2]);
  await change("two", { position: 0 });
  await change("two", { text: "zwei" });
  await expect.poll(counts, patience).toEqual([1, 2, 2, 2]);
  await api.delete(`${url}/${await idOf("one")}`);
  await expect.poll(counts, patience).toEqual([1, 2, 2, 2, 1]);
  await api.post("/api/coding/coding_interrupt", { sessionId });
  await expect.poll(said, patience).toEqual(["before", busyWork, "zwei"]);
  await expect.poll(counts, patience).toEqual([1, 2, 2, 2, 1, 0]);
  expect(await texts()).toEqual([]);
  await close();
});
