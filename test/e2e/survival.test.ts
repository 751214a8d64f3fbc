import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import { processTable, startedWithVariable } from "../../src/platform/process-table.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { echoOf } from "../model-server/script.ts";
import { createWorld, endTerminalHost, killAndWait, startGateway, type World } from "../support/gateway.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { serveWorld, untilReported } from "../support/serving-gateway.ts";

let world: World;
let token: string;
beforeEach(async () => {
  world = await createWorld({ agents: true });
  token = await prepareStore(world);
});
afterEach(() => world.close());

const waitMs = 30_000;

/** The processes that the terminal host of this world started, by the mark that it puts on them. */
function agentsAlive(): readonly number[] {
  return processTable()
    .filter(({ pid, zombie }) => !zombie && startedWithVariable(pid, "HOME", world.root))
    .map(({ pid }) => pid);
}

/** Puts the store back to the moment between sending a prompt and hearing that the agent took it. */
async function forgetDelivery(prompt: string): Promise<void> {
  const database = await openDatabase({ url: null, path: join(world.home, "postern.db"), log: silentLog });
  await database.db
    .updateTable("queued_prompts")
    .set((eb) => ({ state: "sent", prompt, sent_at: eb.ref("created_at") }))
    .execute();
  await database.close();
}

/** As if the hook that tells of a prompt had failed. */
async function dropPromptHooks(): Promise<void> {
  const sessions = join(world.home, "sessions");
  for (const launch of await readdir(sessions)) {
    const path = join(sessions, launch, "inbox.jsonl");
    const lines = (await readFile(path, "utf8")).split("\n");
    await writeFile(path, lines.filter((line) => !line.includes('"UserPromptSubmit"')).join("\n"));
  }
}

describe.for(["claude-code", "codex"])("%s", (agent) => {
  test("lives on when the gateway is killed in mid-turn: the next gateway finds the same process and the whole turn", async () => {
    const first = await serveWorld(world, token);
    const prompt = "slow 4000\nsay the whole long answer\nlines 50";
    const asked = await first.api.ask({ agent, dir: world.repository, prompt });
    expect(asked).toMatchObject({ delivered: true, activity: "working" });
    await first.server.end("SIGKILL");
    expect(existsSync(`/proc/${asked.pid}`)).toBe(true);

    const second = await serveWorld(world, token);
    const { sessionId } = asked;
    const found = await second.api.read(sessionId);
    expect(found).toMatchObject({ pid: asked.pid, status: "running" });
    let read = found;
    for (let looks = 0; read.activity !== "idle" && looks < 50; looks += 1)
      read = await second.api.read(sessionId, { waitMs });
    expect(read.turns.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(read.turns[1]?.text).toContain("the whole long answer");
    expect(read.turns[1]?.text).toContain("Line 50 of 50");

    const next = await second.api.ask({ dir: world.repository, sessionId, prompt: "and on", waitMs });
    expect(next).toMatchObject({ started: "reconnect", delivered: true, pid: asked.pid });
    expect(next.turns?.map(({ text }) => text)).toEqual(["and on", echoOf("and on")]);
    await second.server.end("SIGTERM");
    expect(existsSync(`/proc/${asked.pid}`), "a stopped gateway leaves its agents alone").toBe(true);
  });

  test.for(["its hooks", "its transcript"])(
    "a prompt that the killed gateway had sent and not seen taken is found in %s, and not sent again",
    async (where) => {
      const first = await serveWorld(world, token);
      const request = { agent, dir: world.repository, prompt: "slow 1500\nsay it once", idempotencyKey: "the one" };
      const { sessionId, pid } = await first.api.ask(request);
      await first.server.end("SIGKILL");
      await forgetDelivery(request.prompt);
      await untilReported(world, "Stop", { count: 1 });
      if (where === "its transcript") await dropPromptHooks();

      const second = await serveWorld(world, token);
      await expect
        .poll(() => second.api.read(sessionId), { timeout: 15_000, interval: 200 })
        .toMatchObject({ pid, activity: "idle" });
      const repeated = await second.api.ask({ ...request, waitMs });
      expect(repeated).toMatchObject({ sessionId, delivered: true });
      const next = await second.api.ask({ dir: world.repository, sessionId, prompt: "and on", waitMs });
      expect(next.turns?.map(({ text }) => text)).toEqual(["and on", echoOf("and on")]);
      const { turns } = await second.api.read(sessionId);
      expect(turns.filter(({ role }) => role === "user").map(({ text }) => text)).toEqual([request.prompt, "and on"]);
      await second.server.end("SIGTERM");
    },
  );

  test("when the terminal host is killed nothing of it stays behind, nothing answers 500, and the session can be resumed", async () => {
    const gateway = await startGateway(world);
    const { api } = gateway;
    const asked = await api.ask({ agent, dir: world.repository, prompt: "before the fall", waitMs });
    const hostPid = gateway.app.terminalHostPid() ?? 0;
    await killAndWait(hostPid);
    const answers = await Promise.all([
      api.post("/api/coding/coding_read_session", { sessionId: asked.sessionId }),
      api.post("/api/coding/coding_list_agents", {}),
      api.post("/api/coding/coding_close_session", { sessionId: asked.sessionId }),
    ]);
    for (const { status } of answers) expect([200, 503]).toContain(status);
    await expect.poll(async () => (await api.read(asked.sessionId)).status, { timeout: 15_000 }).toBe("completed");
    await expect.poll(agentsAlive, { timeout: 10_000 }).toEqual([]);
    const resumed = await api.ask({ dir: world.repository, sessionId: asked.sessionId, prompt: "after it", waitMs });
    expect(resumed).toMatchObject({ started: "resumed", delivered: true });
    expect((await api.read(asked.sessionId)).turns.map(({ text }) => text)).toEqual([
      "before the fall",
      echoOf("before the fall"),
      "after it",
      echoOf("after it"),
    ]);
    await gateway.close();
  });
});

test("prompts that waited in the queue when the gateway was killed are sent by the next one, once each and in order", async () => {
  const first = await serveWorld(world, token);
  const { sessionId } = await first.api.ask({ agent: "claude-code", dir: world.repository, prompt: "slow 3000" });
  for (const prompt of ["queued one", "queued two"]) {
    const asked = await first.api.ask({ dir: world.repository, sessionId, prompt });
    expect(asked.delivered).toBeNull();
  }
  await first.server.end("SIGKILL");
  const second = await serveWorld(world, token);
  await expect
    .poll(async () => (await second.api.read(sessionId)).turns.map(({ text }) => text), { timeout: 30_000 })
    .toEqual([
      "slow 3000",
      echoOf("slow 3000"),
      "queued one",
      echoOf("queued one"),
      "queued two",
      echoOf("queued two"),
    ]);
  await second.server.end("SIGTERM");
  await endTerminalHost(world.home);
});
