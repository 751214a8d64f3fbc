import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createApiClient, createWorld, startGateway, type World } from "../../test/support/gateway.ts";
import { systemClock } from "../core/clock.ts";
import { acquireProcessLock } from "../storage/process-lock.ts";
import { probeTerminalHost } from "../terminal-host/client.ts";

vi.setConfig({ testTimeout: 60_000 });

let world: World;

beforeEach(async () => {
  world = await createWorld({ agents: false });
});

afterEach(() => world.close());

test("a manifest shows the folders of its caller and no others", async () => {
  const gateway = await startGateway(world);
  try {
    const { accounts, folders } = gateway.app;
    const inside = join(world.repository, "inside");
    const other = join(world.root, "other");
    for (const dir of [inside, other]) await mkdir(dir);
    for (const dir of [world.repository, inside, other]) await folders.add(dir, ["coding"]);
    const { accountId } = await accounts.owner();
    const foldersSeenBy = async (within: readonly string[] | null): Promise<unknown> => {
      const grant = { name: "t", scopes: ["coding:read"], folders: within, expiresAt: null } as const;
      const { token } = await accounts.tokens.create(accountId, grant);
      const { body } = await createApiClient(gateway.url, token).get<{ folders: { path: string }[] }>("/manifest");
      return body.folders.map(({ path }) => path);
    };
    expect(await foldersSeenBy(null)).toEqual([other, world.repository, inside]);
    expect(await foldersSeenBy([inside])).toEqual([inside]);
    expect(await foldersSeenBy([other])).toEqual([other]);
  } finally {
    await gateway.close();
  }
});

test("a gateway keeps its id over restarts, and makes a new one when the old one was never written", async () => {
  const path = join(world.home, "gateway-id");
  await writeFile(path, "");
  const idNow = async (): Promise<unknown> => {
    const gateway = await startGateway(world);
    try {
      const { body } = await gateway.api.get<{ gateway: { id: string } }>("/manifest");
      return body.gateway.id;
    } finally {
      await gateway.close();
    }
  };
  const first = await idNow();
  expect(first).toMatch(/^[\da-f-]{36}$/);
  expect(await idNow()).toBe(first);
  expect(await readFile(path, "utf8")).toBe(first);
});

test("a start that fails at the store leaves no terminal host and no lock", async () => {
  await writeFile(join(world.home, "postern.db"), "This is no database, and nothing can be made of it.\n".repeat(100));
  await expect(startGateway(world)).rejects.toMatchObject({ code: "store_unavailable" });
  expect(await readFile(join(world.home, "terminal-host", "host.log"), "utf8")).toContain("terminal host started");
  const socketPath = join(world.home, "run", "host.sock");
  await expect.poll(() => probeTerminalHost(socketPath, systemClock), { timeout: 10_000 }).toBeNull();
  acquireProcessLock(join(world.home, "gateway.lock")).close();
});

test("a gateway that has stopped keeps the state folder until it is closed", async () => {
  const { app } = await startGateway(world);
  const take = () => acquireProcessLock(join(world.home, "gateway.lock"));
  await app.stop();
  expect(take).toThrow(expect.objectContaining({ code: "gateway_running" }));
  await app.close();
  take().close();
});
