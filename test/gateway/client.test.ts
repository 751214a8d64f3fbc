import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { createClient } from "../../src/client/index.ts";
import { renderClientOperations } from "../../tools/references/client.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });

test("the methods of the client are those of the gateway", async () => {
  const document: unknown = await (await fetch(`${used.gateway.url}/openapi.json`)).json();
  const file = await readFile(resolve(import.meta.dirname, "../../src/client/operations.ts"), "utf8");
  expect(file === renderClientOperations(document), "They are not: run `node tools/reference.ts`.").toBe(true);
});

test("a client asks, follows the events, reads and closes a session", async () => {
  const { accounts } = used.gateway.app;
  const wanted = { name: "client", scopes: ["coding:read", "coding:write"], folders: null, expiresAt: null } as const;
  const { token } = await accounts.tokens.create((await accounts.owner()).accountId, wanted);
  const client = createClient({ baseUrl: used.gateway.url, token });
  const live = Promise.withResolvers<void>();
  const kinds: string[] = [];
  const following = (async () => {
    for await (const event of client.events({ onState: (state) => state === "live" && live.resolve() })) {
      kinds.push(event.kind);
      if (event.kind === "session.closed") return;
    }
  })();
  await live.promise;
  const { sessionId, turns } = await client.codingAsk({
    agent: "scripted",
    dir: used.world.repository,
    prompt: "Hello",
    waitMs: 30_000,
  });
  expect(turns?.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect((await client.codingReadSession({ sessionId, last: 1 })).turns).toHaveLength(1);
  const terminal = await client.openTerminal({ sessionId, mode: "observe" });
  const [screen] = await once(terminal, "message");
  expect(screen.data).toContain("Hello");
  terminal.close();
  await client.codingCloseSession({ sessionId });
  await following;
  expect(kinds[0]).toBe("session.created");
  expect(kinds).toEqual(expect.arrayContaining(["session.turn_ended", "session.exited", "session.closed"]));
  await expect(client.listTokens()).rejects.toMatchObject({ code: "insufficient_scope", status: 403 });
});
