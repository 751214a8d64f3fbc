import type { FactPage, LogDetail, LogPage } from "../../src/wire/logs.ts";
import { readEvents } from "./event-reader.ts";
import type { ApiClient, TestGateway } from "./gateway.ts";

/** What the memory says now of a subject: a predicate with its object or value. */
export async function factsOf({ api }: TestGateway, subject: string): Promise<readonly string[]> {
  const { body } = await api.get<FactPage>(`/api/v1/facts?subject=${encodeURIComponent(subject)}`);
  return body.facts.map(({ predicate, object, value }) => `${predicate} ${object?.key ?? value}`);
}

/** The turns of a session that the memory has, in order. */
export async function rememberedTurns({ api }: TestGateway, sessionId: string): Promise<readonly number[]> {
  return (await turnsOf(api, sessionId)).toSorted((one, other) => one - other);
}

/** What is remembered of a session, the oldest entry first. */
export async function entriesOf(api: ApiClient, sessionId: string): Promise<readonly LogDetail[]> {
  const page = await api.get<LogPage>(`/api/v1/logs?sessionId=${sessionId}&limit=200`);
  const details = page.body.logs.map(async ({ logId }) => (await api.get<LogDetail>(`/api/v1/logs/${logId}`)).body);
  return (await Promise.all(details)).toReversed();
}

export async function turnsOf(api: ApiClient, sessionId: string): Promise<readonly number[]> {
  return (await entriesOf(api, sessionId)).flatMap(({ turns }) => (turns ?? []).map(({ index }) => index));
}

/** `predicate Type:key` or `predicate value` for each current fact about a subject. */
export async function currentFactsOf(api: ApiClient, subject: string): Promise<readonly string[]> {
  const page = await api.get<FactPage>(`/api/v1/facts?subject=${encodeURIComponent(subject)}&limit=200`);
  return page.body.facts
    .filter(({ validTo }) => validTo === null)
    .map(({ predicate, object, value }) => `${predicate} ${object === null ? value : `${object.type}:${object.key}`}`);
}

export const record = (api: ApiClient, sessionId: string) => api.post(`/api/v1/sessions/${sessionId}/record`, {});
export const close = (api: ApiClient, sessionId: string) => api.post("/api/coding/coding_close_session", { sessionId });

/** The events from now on, without those of which there may be more on a slow machine. */
export async function milestones({ app, url }: TestGateway): Promise<() => readonly string[]> {
  const { accountId } = await app.accounts.owner();
  const asked = { name: "events", scopes: ["coding:read"] as const, folders: null, expiresAt: null };
  const { token } = await app.accounts.tokens.create(accountId, asked);
  const { events } = await readEvents(url, { token });
  const often = ["session.activity", "session.status"];
  return () => events.map(({ kind }) => kind).filter((kind) => !often.includes(kind));
}
