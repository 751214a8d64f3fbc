import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SessionEvent } from "../../src/wire/events.ts";
import { readEvents } from "../support/event-reader.ts";
import { createWorld, type World } from "../support/gateway.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { type ServingGateway, serveWorld, untilReported } from "../support/serving-gateway.ts";
import { isSigned, startWebhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";

let world: World;
beforeEach(async () => {
  world = await createWorld({ agents: "scripted", config: { allowPrivateAddresses: ["127.0.0.1"] } });
});
afterEach(() => world.close());

const waitMs = 30_000;
const patient = { timeout: 30_000 };

/** A session's life with two turns, without the steps between. */
const wholeLife = ["session.created", "session.turn_ended", "session.turn_ended", "session.exited", "session.closed"];

async function addReceiver({ api }: ServingGateway): Promise<WebhookReceiver & { readonly secret: string }> {
  const receiver = await startWebhookReceiver();
  const { status, body } = await api.post<{ secret: string }>("/api/webhooks", { url: receiver.url });
  expect(status).toBe(201);
  return Object.assign(receiver, { secret: body.secret });
}

/** What the receiver got, each event once, in the order in which it first came. */
function received({ requests }: WebhookReceiver): readonly SessionEvent[] {
  const byId = new Map<string, SessionEvent>();
  for (const { headers, body } of requests) {
    const event = JSON.parse(body);
    expect(headers["webhook-id"]).toBe(event.id);
    const before = byId.get(event.id);
    if (before !== undefined) expect(event, "a repeat is the same").toEqual(before);
    else byId.set(event.id, event);
  }
  return [...byId.values()];
}

function kindsOf(events: readonly SessionEvent[]): readonly string[] {
  return events.map(({ kind }) => kind);
}

/** Without the events of which there may be more on a slow machine. */
function milestones(events: readonly SessionEvent[]): readonly string[] {
  return kindsOf(events).filter((kind) => kind !== "session.activity" && kind !== "session.status");
}

function lastActivity(events: readonly SessionEvent[]): string | null {
  return events.findLast((event) => event.kind === "session.activity")?.activity ?? null;
}

describe("the scripted agent", () => {
  const agent = "scripted";
  test("a gateway that is killed in mid-turn loses no event: stream and webhook get each one once, in order", async () => {
    const token = await prepareStore(world);
    const first = await serveWorld(world, token);
    const receiver = await addReceiver(first);
    const before = await readEvents(first.server.url, { token: first.token });
    const { sessionId } = await first.api.ask({ agent, dir: world.repository, prompt: "say one", waitMs });
    await first.api.ask({ dir: world.repository, sessionId, prompt: "slow 2500\nsay two" });
    await untilReported(world, "UserPromptSubmit", { count: 2 });
    await expect.poll(() => lastActivity(before.events), patient).toBe("working");
    await first.server.end("SIGKILL");
    await before.ended;
    await untilReported(world, "Stop", { count: 2 });

    const second = await serveWorld(world, token);
    const after = await readEvents(second.server.url, { token: second.token, lastEventId: before.lastId });
    await expect.poll(() => kindsOf(after.events), patient).toContain("session.turn_ended");
    await second.api.post("/api/coding/coding_close_session", { sessionId });
    await expect.poll(() => kindsOf(after.events), patient).toContain("session.closed");
    await expect.poll(() => kindsOf(received(receiver)), patient).toContain("session.closed");

    const told = [...before.events, ...after.events];
    expect(milestones(told)).toEqual(wholeLife);
    expect(told.map(({ id }) => id)).toEqual(told.map(({ id }) => id).toSorted());
    expect(new Set(told.map((event) => event.sessionId))).toEqual(new Set([sessionId]));
    expect(received(receiver)).toEqual(told);
    expect(receiver.requests.every((request) => isSigned(request, receiver.secret))).toBe(true);
    expect(after.resets).toEqual([]);
    await second.server.end("SIGTERM");
  });

  test("an agent that ends while no gateway is running is reported once by the next one", async () => {
    const token = await prepareStore(world);
    const first = await serveWorld(world, token);
    const before = await readEvents(first.server.url, { token: first.token });
    const { sessionId, pid } = await first.api.ask({ agent, dir: world.repository, prompt: "say one", waitMs });
    await expect.poll(() => lastActivity(before.events), patient).toBe("idle");
    await sleep(100); // what is told is written already; this is for what was only just read
    await first.server.end("SIGKILL");
    await before.ended;
    process.kill(pid ?? 0, "SIGKILL");
    await sleep(500);
    const second = await serveWorld(world, token);
    const after = await readEvents(second.server.url, { token: second.token, lastEventId: before.lastId });
    await expect.poll(() => after.events.length, patient).toBe(2);
    expect(after.events).toMatchObject([
      { kind: "session.exited", sessionId, status: "completed", exitCode: 137, signal: "SIGKILL" },
      { kind: "session.status", sessionId, status: "completed", previous: "running" },
    ]);
    await second.api.post("/api/coding/coding_close_session", { sessionId });
    await expect.poll(() => milestones(after.events), patient).toEqual(["session.exited", "session.closed"]);
    await second.server.end("SIGTERM");
  });
});
