import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createAgentFacts } from "../../src/agents/agent-facts.ts";
import { codex } from "../../src/agents/codex/codex.ts";
import { loadConfig } from "../../src/app/config.ts";
import { diagnose } from "../../src/app/diagnose.ts";
import { systemClock } from "../../src/core/clock.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { makeAgentWorld } from "../support/planned-agent.ts";

/** Codex takes it for the system's by the options that its help names. */
const refusingBubblewrap = `#!/bin/sh
[ "$1" = --help ] && exec echo "--as-pid-1 --bind-fd --ro-bind-fd --perms"
echo "bwrap: Creating new namespace failed: Operation not permitted" >&2
exit 1
`;

let whole: World;
/** The same, where bubblewrap gets no namespace. */
let broken: World;
let gateway: TestGateway;

beforeAll(async () => {
  whole = await createWorld({ agents: true });
  const bin = join(whole.root, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "bwrap"), refusingBubblewrap);
  await chmod(join(bin, "bwrap"), 0o755);
  broken = { ...whole, env: { ...whole.env, PATH: `${bin}:${whole.env["PATH"]}` } };
  gateway = await startGateway(broken);
});

afterAll(async () => {
  await gateway.close();
  await whole.close();
});

async function sandboxFinding({ env }: World) {
  const findings = await diagnose(loadConfig(env), { smoke: false });
  return findings.find(({ check }) => check === "sandbox of codex");
}

test("doctor runs Codex's sandbox, and says why it does not work", async () => {
  expect(await sandboxFinding(whole)).toMatchObject({ level: "ok" });
  expect(await sandboxFinding(broken)).toMatchObject({
    level: "warning",
    message: expect.stringContaining("user namespaces (bwrap: Creating new namespace failed: Operation not permitted)"),
  });
});

// A newer bubblewrap needs no helper program, nor does the one that Codex brings.
const hasOldBubblewrap = /^(?!.*--argv0).*--perms/s.test(
  spawnSync("bwrap", ["--help"], { encoding: "utf8" }).stdout ?? "",
);

test.skipIf(!hasOldBubblewrap)(
  "commands run in the sandbox of a Codex that has lost its helper programs at its start (needs bubblewrap before 0.9)",
  async () => {
    const world = await makeAgentWorld(codex);
    // As when another Codex removed them, but each time.
    const env = { ...world.env, TMPDIR: world.root };
    expect(await codex.checkSandbox?.(world.binary, env)).toBeNull();
    const agent = await world.launch({ env, prompt: "run echo from-the-$((40 + 2))" });
    await agent.untilScreen("from-the-42");
    expect(await readdir(join(world.stateDir, "tmp")).catch(() => [])).not.toContainEqual(
      expect.stringMatching(/^arg0/),
    );
  },
);

test("Postern's questions to Codex remove no helpers of another Codex that is starting", async () => {
  const env = { ...whole.env, CODEX_HOME: join(whole.root, "asked") };
  await mkdir(env.CODEX_HOME);
  const binary = inject("agents").codex;
  expect(await createAgentFacts(systemClock).version(codex, binary, env)).toMatch(/^\d/);
  expect(await codex.loginState(binary, env)).not.toBe("unknown");
  expect(await codex.checkSandbox?.(binary, env)).toBeNull();
  expect(await readdir(env.CODEX_HOME)).toEqual([]);
});

test("a session says that its sandbox does not work, unless it uses none", async () => {
  const { api } = gateway;
  const ask = { agent: "codex", dir: whole.repository, prompt: "hello", waitMs: 60_000 };
  const [asking, free] = await Promise.all([api.ask(ask), api.ask({ ...ask, permissionMode: "all" })]);
  // The start does not wait for the check.
  const warnings = async () => (await api.read(asking.sessionId)).warnings;
  await expect.poll(warnings, { timeout: 20_000 }).toEqual([expect.stringContaining("user namespaces")]);
  expect(free.warnings).toEqual([]);
});
