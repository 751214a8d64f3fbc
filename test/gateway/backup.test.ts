import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createWorld, endTerminalHost } from "../support/gateway.ts";
import { runPostern } from "../support/postern-process.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { serveWorld } from "../support/serving-gateway.ts";

const waitMs = 30_000;

test("what is backed up while a gateway runs is there after its state folder was lost: sessions, tokens, memory, apps", {
  timeout: 60_000,
}, async () => {
  const world = await createWorld({ agents: "scripted" });
  onTestFinished(() => world.close());
  const token = await prepareStore(world);
  const first = await serveWorld(world, token);
  const asked = await first.api.ask({ agent: "scripted", dir: world.repository, prompt: "say marmalade", waitMs });
  expect(asked.activity).toBe("idle");
  const remembered = await first.api.post("/api/v1/logs", { content: "Decision: retries = 3", title: "retries" });
  expect(remembered.status).toBe(201);
  const postern = (...argv: readonly string[]) => runPostern(argv, { env: { ...world.env } });
  const added = await postern("client", "add", "helper", "--redirect", "https://helper.example/back", "--json");
  expect(added.code, added.stderr).toBe(0);

  const file = join(world.root, "backup.tar.gz");
  const backedUp = await postern("backup", file, "--with-recordings", "--json");
  expect(backedUp.code, backedUp.stderr).toBe(0);
  expect(JSON.parse(backedUp.stdout)).toMatchObject({ file, store: "sqlite", withKey: true });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const refused = await postern("restore", file, "--replace");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("gateway_running")]);
  await first.server.end("SIGKILL");

  const home = join(world.root, "another");
  await mkdir(home);
  const env = { ...world.env, POSTERN_HOME: home };
  const restored = await runPostern(["restore", file], { env });
  expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining(`Restored ${home}`)]);
  expect(restored.stderr).toContain("are also restored");
  for (const name of ["key", "gateway-id", "config.json"]) {
    expect(await readFile(join(home, name), "utf8")).toBe(await readFile(join(world.home, name), "utf8"));
  }

  const second = await serveWorld({ ...world, home, env }, token);
  const { sessionId } = asked;
  const read = await second.api.read(sessionId);
  expect(read.turns.some(({ blocks }) => JSON.stringify(blocks).includes("marmalade"))).toBe(true);
  const logs = await second.api.get<{ logs: readonly { title: string }[] }>("/api/v1/logs");
  expect(logs.body.logs.map(({ title }) => title)).toContain("retries");
  const clients = await runPostern(["client", "list", "--json"], { env });
  expect(clients.stdout).toContain(JSON.parse(added.stdout).clientId);
  const recording = await second.api.get(`/api/coding/sessions/${sessionId}/recording/info`);
  expect(recording.body).toMatchObject({ terminals: [{ live: false }] });
  const again = await second.api.ask({ dir: world.repository, sessionId, prompt: "say apricot", waitMs });
  expect(again).toMatchObject({ sessionId, activity: "idle" });
  await second.server.end("SIGTERM");
  await endTerminalHost(home);
});
