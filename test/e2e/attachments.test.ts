import { describe, expect, test } from "vitest";

import { picture } from "../support/pictures.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: true });
const waitMs = 60_000;

/** Uploads it with the gateway's own token, whose prompts alone may use it. */
async function uploaded(name: string, body: Uint8Array): Promise<string> {
  const { token, url } = used.gateway;
  const response = await fetch(`${url}/api/coding/attachments`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/octet-stream",
      "x-file-name": encodeURIComponent(name),
    },
    body: Buffer.from(body),
  });
  const answer: unknown = await response.json();
  expect(response.status, JSON.stringify(answer)).toBe(201);
  return Object(answer).attachmentId;
}

/** Whether the model got these bytes in its last request. */
function reached(bytes: Buffer): boolean {
  const last = used.world.modelServer.requests.findLast(({ kind }) => kind === "turn");
  return last?.body.includes(bytes.toString("base64")) === true;
}

describe.for(["claude-code", "codex"])("%s", (agent) => {
  test("the model gets the bytes of pictures in a first prompt, in a later one and after a resume, and the prompts as they were", async () => {
    const { gateway, world } = used;
    const { api } = gateway;
    const dir = world.repository;
    const [one, two, three] = [picture(1), picture(2), picture(3)];
    const attachments = [await uploaded("one.png", one), await uploaded("two.png", two)];
    const first = await api.ask({ agent, dir, prompt: "describe both", attachments, waitMs });
    expect(first).toMatchObject({ delivered: true, activity: "idle" });
    expect([reached(one), reached(two)]).toEqual([true, true]);
    expect(first.turns?.[0]?.text).toBe("describe both");
    const { sessionId } = first;
    const later = {
      dir,
      sessionId,
      prompt: "and\nthis one",
      attachments: [await uploaded("three.png", three)],
      waitMs,
    };
    expect(await api.ask(later)).toMatchObject({ delivered: true, activity: "idle", started: "reconnect" });
    expect(reached(three)).toBe(true);
    const { turns, title } = await api.read(sessionId);
    expect(turns[2]?.text).toBe("and\nthis one");
    expect(title).not.toContain("attachments");
    await api.post("/api/coding/coding_close_session", { sessionId });
    const four = picture(4);
    const resumed = { dir, sessionId, prompt: "again", attachments: [await uploaded("four.png", four)], waitMs };
    expect(await api.ask(resumed)).toMatchObject({ delivered: true, started: "resumed" });
    expect(reached(four)).toBe(true);
    await api.post("/api/coding/coding_close_session", { sessionId });
  });
});
