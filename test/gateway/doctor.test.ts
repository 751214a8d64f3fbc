import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Finding } from "../../src/wire/doctor.ts";
import { createWorld, type World } from "../support/gateway.ts";
import { posternEnvironment, runPostern, servePostern } from "../support/postern-process.ts";
import { prepareStore } from "../support/prepared-store.ts";

let world: World;

beforeAll(async () => {
  world = await createWorld({ agents: false });
  const claude = join(world.root, "claude-program");
  const script = `#!/bin/sh\n[ "$1" = --version ] && echo 2.1.300 || echo '{"loggedIn":false}'\n`;
  await writeFile(claude, script);
  await chmod(claude, 0o755);
  await prepareStore(world, []);
  const setup = await postern(withKey(null), "coding", "setup", "--agent", "claude-code", "--binary", claude);
  expect(setup.stderr).not.toContain("postern:");
});

afterAll(() => world?.close());

function withKey(key: string | null): Record<string, string> {
  const { ANTHROPIC_API_KEY: _key, ...env } = posternEnvironment(world.home, world.env);
  return key === null ? env : { ...env, ANTHROPIC_API_KEY: key };
}

function postern(env: Record<string, string>, ...argv: readonly string[]) {
  return runPostern(argv, { env, cwd: world.repository });
}

async function findings(env: Record<string, string>): Promise<ReadonlyMap<string, Finding>> {
  const { stdout } = await postern(env, "doctor", "--json");
  const found: readonly Finding[] = JSON.parse(stdout).findings;
  return new Map(found.map((finding) => [finding.check, finding]));
}

test("doctor asks the running gateway: its port, its address, and its agents' login by key", async () => {
  const gateway = await servePostern(withKey("sk-of-the-gateway"));
  onTestFinished(async () => void (await gateway.end("SIGKILL")));
  // Another port than the running gateway's is configured by now.
  const found = await findings({ ...withKey(null), POSTERN_PORT: "9" });
  const { port } = new URL(gateway.url);
  expect(found.get("port")).toMatchObject({ level: "ok", message: expect.stringContaining(`127.0.0.1 port ${port}`) });
  expect(found.get("exposure")?.message).toContain(`http://localhost:${port}`);
  expect(found.get("agent claude-code")).toMatchObject({ level: "ok", message: expect.stringContaining("API key") });
});

test("a key that only this shell has is no login of the gateway, and the fix restarts it from here", async () => {
  const gateway = await servePostern(withKey(null));
  onTestFinished(async () => void (await gateway.end("SIGKILL")));
  const found = await findings(withKey("sk-of-the-shell"));
  expect(found.get("agent claude-code")).toMatchObject({
    level: "failure",
    message: expect.stringContaining("not logged in"),
    fix: "postern stop && postern serve",
  });
  process.kill(gateway.pid, "SIGSTOP");
  expect((await findings(withKey(null))).get("gateway")).toMatchObject({
    level: "failure",
    fix: `kill -KILL ${gateway.pid}`,
  });
});
