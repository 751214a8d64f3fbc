import type { FactPage, LogDetail, LogPage } from "../../src/wire/logs.ts";
import { readEvents } from "./event-reader.ts";
import type { TestGateway } from "./gateway.ts";

/** What the memory says now of a subject: a predicate with its object or value. */
export async function factsOf({ api }: TestGateway, subject: string): Promise<readonly string[]> {
  const { body } = await api.get<FactPage>(`/api/v1/facts?subject=${encodeURIComponent(subject)}`);
  return body.facts.map(({ predicate, object, value }) => `${predicate} ${object?.key ?? value}`);
}

/** The turns of a session that the memory has. */
export async function rememberedTurns({ api }: TestGateway, sessionId: string): Promise<readonly number[]> {
  const { body } = await api.get<LogPage>(`/api/v1/logs?sessionId=${sessionId}`);
  const entries = body.logs.map(({ logId }) => api.get<LogDetail>(`/api/v1/logs/${logId}`));
  const turns = (await Promise.all(entries)).flatMap((entry) => entry.body.turns ?? []);
  return turns.map(({ index }) => index).toSorted((one, other) => one - other);
}

/** The events from now on, without those of which there may be more on a slow machine. */
export async function milestones({ app, url }: TestGateway): Promise<() => readonly string[]> {
  const { accountId } = await app.accounts.owner();
  const asked = { name: "events", scopes: ["coding:read"] as const, folders: null, expiresAt: null };
  const { token } = await app.accounts.tokens.create(accountId, asked);
  const { events } = await readEvents(url, { token });
  const often = ["session.activity", "session.status"];
  return () => events.map(({ kind }) => kind).filter((kind) => !often.includes(kind));
}
