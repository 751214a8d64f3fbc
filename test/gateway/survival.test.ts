import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
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
  world = await createWorld({ agents: "scripted" });
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

/** As if the hook that tells of a prompt had failed, in the sessions of these ids. */
async function dropPromptHooks(sessionIds: readonly string[]): Promise<void> {
  const sessions = join(world.home, "sessions");
  let dropped = 0;
  for (const launch of await readdir(sessions)) {
    const path = join(sessions, launch, "inbox.jsonl");
    const text = await readFile(path, "utf8");
    if (!sessionIds.some((id) => text.includes(id))) continue;
    const lines = text.split("\n");
    await writeFile(path, lines.filter((line) => !line.includes('"UserPromptSubmit"')).join("\n"));
    dropped += 1;
  }
  expect(dropped).toBe(sessionIds.length);
}

const agents = ["scripted"] as const;

test("a prompt that the killed gateway had sent and not seen taken is found in its hooks, or in its transcript, and not sent again", async () => {
  const first = await serveWorld(world, token);
  const prompt = "slow 1500\nsay it once";
  const places = agents.flatMap((agent) => ["hooks", "transcript"].map((where) => ({ agent, where })));
  const begun = await Promise.all(
    places.map(async ({ agent, where }) => {
      const request = { agent, dir: world.repository, prompt, idempotencyKey: `${agent}, ${where}` };
      const { sessionId, pid } = await first.api.ask(request);
      return { request, where, sessionId, pid };
    }),
  );
  await first.server.end("SIGKILL");
  await forgetDelivery(prompt);
  await untilReported(world, "Stop", { count: begun.length });
  await dropPromptHooks(begun.flatMap(({ where, sessionId }) => (where === "transcript" ? [sessionId] : [])));

  const second = await serveWorld(world, token);
  for (const { request, sessionId, pid } of begun) {
    const what = request.idempotencyKey;
    await expect
      .poll(() => second.api.read(sessionId), { message: what, timeout: 15_000, interval: 200 })
      .toMatchObject({ pid, activity: "idle" });
    const repeated = await second.api.ask({ ...request, waitMs });
    expect(repeated, what).toMatchObject({ sessionId, delivered: true });
    const next = await second.api.ask({ dir: world.repository, sessionId, prompt: "and on", waitMs });
    const texts = next.turns?.map(({ text }) => text);
    expect(texts, what).toEqual(["and on", echoOf("and on")]);
    const { turns } = await second.api.read(sessionId);
    const said = turns.filter(({ role }) => role === "user").map(({ text }) => text);
    expect(said, what).toEqual([prompt, "and on"]);
  }
  await second.server.end("SIGTERM");
});

test("when the terminal host is killed nothing of it stays behind, nothing answers 500, and the sessions can be resumed", async () => {
  const gateway = await startGateway(world);
  const { api } = gateway;
  const begun = await Promise.all(
    agents.map(async (agent) => ({
      agent,
      asked: await api.ask({ agent, dir: world.repository, prompt: "before the fall", waitMs }),
    })),
  );
  await killAndWait(gateway.app.terminalHostPid());
  const answers = await Promise.all([
    api.post("/api/coding/coding_list_agents", {}),
    ...begun.flatMap(({ asked: { sessionId } }) => [
      api.post("/api/coding/coding_read_session", { sessionId }),
      api.post("/api/coding/coding_close_session", { sessionId }),
    ]),
  ]);
  for (const { status } of answers) expect([200, 503]).toContain(status);
  for (const { agent, asked } of begun) {
    const status = async (): Promise<string> => (await api.read(asked.sessionId)).status;
    await expect.poll(status, { message: agent, timeout: 15_000 }).toBe("completed");
  }
  await expect.poll(agentsAlive, { timeout: 10_000 }).toEqual([]);
  for (const { agent, asked } of begun) {
    const { sessionId } = asked;
    const resumed = await api.ask({ dir: world.repository, sessionId, prompt: "after it", waitMs });
    expect(resumed, agent).toMatchObject({ started: "resumed", delivered: true });
    const texts = (await api.read(sessionId)).turns.map(({ text }) => text);
    expect(texts, agent).toEqual(["before the fall", echoOf("before the fall"), "after it", echoOf("after it")]);
  }
  await gateway.close();
});

test("prompts that waited in the queue when the gateway was killed are sent by the next one, once each and in order", async () => {
  const first = await serveWorld(world, token);
  const { sessionId } = await first.api.ask({ agent: "scripted", dir: world.repository, prompt: "slow 3000" });
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
