import { mkdirSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { createWorld, killAndWait, startGateway, type TestGateway, type World } from "../../test/support/gateway.ts";
import { type PostgresServer, startPostgres } from "../../test/support/postgres-server.ts";
import { fillDisk, mayMount, mountSmallDisk } from "../../test/support/small-disk.ts";
import { silentLog } from "../core/log.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const unavailable = { status: 503, retryAfter: "5", code: "store_unavailable" };
const backMs = { timeout: 20_000 };

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.close());

interface Started extends TestGateway {
  readonly token: string;
}

/** @param home a state folder other than the world's */
async function startOn(env: Readonly<Record<string, string>>, home?: (world: World) => string): Promise<Started> {
  const world = await createWorld({ agents: false, env });
  onTestFinished(() => world.close());
  const at = home?.(world);
  if (at !== undefined) await cp(join(world.home, "config.json"), join(at, "config.json"));
  const used = at === undefined ? world : { ...world, env: { ...world.env, POSTERN_HOME: at } };
  const gateway = await startGateway(used, silentLog);
  onTestFinished(async () => {
    const hostPid = gateway.app.terminalHostPid();
    await gateway.close();
    if (at !== undefined) await killAndWait(hostPid); // the world does not end this one
  });
  const { tokens, owner } = gateway.app.accounts;
  const wanted = { name: "test", scopes: ["admin"], folders: null, expiresAt: null } as const;
  const { token } = await tokens.create((await owner()).accountId, wanted);
  return { ...gateway, token };
}

/** A write: creates a token. */
async function write({ url, token }: Started) {
  const answer = await fetch(`${url}/api/tokens`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "new", scopes: ["admin"] }),
  });
  const body: unknown = await answer.json();
  const code = typeof body === "object" && body !== null && "code" in body ? body.code : null;
  return { status: answer.status, retryAfter: answer.headers.get("retry-after"), code };
}

const statusOf = async ({ url }: TestGateway, path: string) => (await fetch(`${url}${path}`)).status;

test("while PostgreSQL hangs requests get store_unavailable within seconds, and the gateway is live and not ready", async () => {
  const gateway = await startOn({ POSTERN_DATABASE_URL: await server.createDatabase() });
  expect(await statusOf(gateway, "/readyz")).toBe(200);
  await server.pause();
  onTestFinished(() => server.resume());
  const began = performance.now();
  expect(await write(gateway)).toEqual(unavailable);
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(await statusOf(gateway, "/healthz")).toBe(200);
  const ready = await fetch(`${gateway.url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { status: "unavailable", store: "unavailable", terminalHost: "ok" },
  ]);
  await server.resume();
  await expect.poll(() => statusOf(gateway, "/readyz"), backMs).toBe(200);
  expect((await write(gateway)).status).toBe(201);
});

test("while PostgreSQL is down requests get store_unavailable immediately, and succeed when it is back", async () => {
  const gateway = await startOn({ POSTERN_DATABASE_URL: await server.createDatabase() });
  await server.kill();
  await expect.poll(() => write(gateway), backMs).toEqual(unavailable);
  await expect.poll(() => statusOf(gateway, "/readyz"), backMs).toBe(503);
  await server.restart();
  await expect.poll(async () => (await write(gateway)).status, backMs).toBe(201);
  await expect.poll(() => statusOf(gateway, "/readyz"), backMs).toBe(200);
});

test("a terminal host that does not answer makes the gateway unready", async () => {
  const gateway = await startOn({});
  const pid = gateway.app.terminalHostPid() ?? 0;
  process.kill(pid, "SIGSTOP");
  onTestFinished(() => void process.kill(pid, "SIGCONT"));
  await expect.poll(() => statusOf(gateway, "/readyz"), backMs).toBe(503);
  process.kill(pid, "SIGCONT");
  await expect.poll(() => statusOf(gateway, "/readyz"), backMs).toBe(200);
});

test.skipIf(!mayMount())(
  "on a full disk writes get store_unavailable until there is room, and reads are answered (skipped for users who cannot mount a small disk)",
  async () => {
    let disk = "";
    const gateway = await startOn({}, ({ root }) => {
      disk = join(root, "disk");
      mountSmallDisk(disk, "16m");
      mkdirSync(join(disk, "home"), { mode: 0o700 });
      return join(disk, "home");
    });
    const makeRoom = await fillDisk(disk);
    await expect.poll(() => write(gateway), backMs).toEqual(unavailable);
    const me = await fetch(`${gateway.url}/api/me`, { headers: { authorization: `Bearer ${gateway.token}` } });
    expect(me.status).toBe(200);
    await makeRoom();
    await expect.poll(async () => (await write(gateway)).status, backMs).toBe(201);
  },
);
