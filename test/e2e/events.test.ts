import { expect, test } from "vitest";
import { readEvents } from "../support/event-reader.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });
const waitMs = 30_000;

async function tokenOf(folders: readonly string[] | null = null): Promise<{ token: string; tokenId: string }> {
  const { accounts } = used.gateway.app;
  const { accountId } = await accounts.owner();
  const wanted = { name: "events", scopes: ["coding:read"], folders, expiresAt: null } as const;
  const { token, record } = await accounts.tokens.create(accountId, wanted);
  return { token, tokenId: record.tokenId };
}

test.for(["claude-code", "codex"])("%s: the stream tells a session's life, in order", async (agent) => {
  const { api, url } = used.gateway;
  const { token } = await tokenOf();
  const reader = await readEvents(url, { token });
  const { sessionId } = await api.ask({ agent, dir: used.world.repository, prompt: "say hello", waitMs });
  await api.post("/api/coding/coding_close_session", { sessionId });
  await expect.poll(() => reader.events.map(({ kind }) => kind), { timeout: 10_000 }).toContain("session.closed");
  expect(reader.events.map(({ kind }) => kind)).toEqual([
    "session.created",
    "session.status",
    "session.activity",
    "session.turn_ended",
    "session.activity",
    "session.exited",
    "session.status",
    "session.closed",
  ]);
  expect(new Set(reader.events.map((event) => event.sessionId))).toEqual(new Set([sessionId]));
});
