import { expect, test } from "vitest";
import { bearer, openTerminal } from "../support/terminal-client.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });

const patience = { timeout: 30_000, interval: 100 };

test.for(["claude-code", "codex"])(
  "%s: its screen is seen through the WebSocket, and it is typed into",
  async (agent) => {
    const { api, url, app } = used.gateway;
    const spawned = await api.post<{ sessionId: string }>("/api/coding/spawn", { agent, dir: used.world.repository });
    const { sessionId } = spawned.body;
    const headers = await bearer(app);
    const viewer = openTerminal({ url, headers, query: { session_id: sessionId, cols: 100, rows: 30 } });
    const text = async (): Promise<string> => (await viewer.screen()).join("\n");
    await expect.poll(text, patience).toMatch(/[❯›]/);
    viewer.type("say hello from the socket");
    await expect.poll(text, patience).toContain("say hello from the socket");
    expect(viewer.frames.findLast((frame) => "cols" in frame)).toMatchObject({ cols: 100, rows: 30 });
    await api.post("/api/coding/coding_close_session", { sessionId });
    expect(await viewer.closed).toMatchObject({ code: 1000 });
    expect(viewer.frames.at(-1)).toMatchObject({ kind: "exit" });
  },
);
