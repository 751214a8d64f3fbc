import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test, vi } from "vitest";
import { createGate } from "../../src/core/gate.ts";
import { processRow } from "../../src/platform/process-table.ts";
import type { AskInput, AskOutput } from "../../src/wire/coding.ts";
import type { Problem } from "../../src/wire/problem.ts";
import { type AgentVersion, agentVersions } from "../../tools/agent-versions.ts";
import { echoOf } from "../model-server/script.ts";
import { configureOpenCode } from "../support/configure-opencode.ts";
import { createWorld, killAndWait, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { atTerminal } from "../support/type-into.ts";

// The version matrix: what every supported version of an agent has to do. See docs/supported-versions.md.

const versions = await agentVersions((sentence) => console.log(sentence));

/** Two starts at once keep two processors busy. */
const gate = createGate({ atOnce: 2, waiting: versions.length });
const waitMs = 90_000;
const patience = { timeout: 60_000, interval: 100 };

/** What differs between the agents. */
const differences: Readonly<Record<string, { readonly model: string; readonly asks: string; readonly makes: string }>> =
  {
    "claude-code": { model: "claude-some-model", asks: "write made.txt with words", makes: "made.txt" },
    codex: { model: "some-model", asks: "write made.txt with words", makes: "made.txt" },
    "gemini-cli": { model: "gemini-2.5-pro", asks: "run touch made.txt", makes: "made.txt" },
    opencode: { model: "local/model-b", asks: "run touch made.txt", makes: "made.txt" },
  };

const steps = ["start", "turns", "next prompt", "permission", "resume", "close"] as const;
type Step = (typeof steps)[number];

interface Row extends AgentVersion {
  readonly passed: Set<Step>;
  failed: Step | null;
  seconds: number;
}
const rows: Row[] = versions.map((one) => ({ ...one, passed: new Set<Step>(), failed: null, seconds: 0 }));

afterAll(() => console.log(`\n${matrix().join("\n")}`));

function matrix(): readonly string[] {
  const cells = rows.map((row) => [
    row.agent,
    row.version ?? "unknown",
    row.roles.join(", "),
    ...steps.map((step) => (row.passed.has(step) ? "ok" : row.failed === step ? "FAILED" : "-")),
    row.problem === null ? `${row.seconds.toFixed(0)} s` : `skipped: ${row.problem}`,
  ]);
  const all = [["agent", "version", "tested as", ...steps, "time"], ...cells];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((cell) => cell[column]?.length ?? 0))) ?? [];
  return all.map((cell) =>
    cell
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

for (const row of rows) {
  const { agent, version, roles, binDir, problem } = row;
  const title = `${agent} ${version ?? ""} (${roles.join(", ")})`;
  if (binDir === null) test.skip(`${title}: ${problem}`, () => undefined);
  else test.concurrent(title, () => gate.run(() => tryVersion(row, binDir)), 600_000);
}

async function tryVersion(row: Row, binDir: string): Promise<void> {
  const { agent, version } = row;
  const env = { OPENCODE_MODELS_PATH: join(import.meta.dirname, "../opencode/models.json") };
  const world = await createWorld({ agents: { agent, binDir }, env });
  const startedAt = performance.now();
  try {
    if (agent === "opencode") await configureOpenCode(world, version ?? "");
    const gateway = await startGateway(world);
    try {
      await walk(row, { world, gateway });
    } finally {
      await gateway.close();
    }
  } finally {
    row.seconds = (performance.now() - startedAt) / 1000;
    await world.close();
  }
}

/** One session, from its start to its end. */
async function walk(row: Row, place: { readonly world: World; readonly gateway: TestGateway }): Promise<void> {
  const { world, gateway } = place;
  const { api } = gateway;
  const { agent } = row;
  const { model = "", asks = "", makes = "" } = differences[agent] ?? {};
  const dir = world.repository;
  const step = async <T>(name: Step, work: () => Promise<T>): Promise<T> => {
    row.failed = name;
    const result = await work();
    row.passed.add(name);
    row.failed = null;
    return result;
  };
  const texts = async (id: string) => (await api.read(id)).turns.map(({ text }) => text);

  const first = await step("start", async () => {
    const asked = await begin(gateway, { agent, dir, prompt: "first words", model, waitMs });
    expect(asked).toMatchObject({ agent, started: "new", delivered: true, status: "running", activity: "idle" });
    return asked;
  });
  const { sessionId, pid } = first;
  await step("turns", async () => {
    expect(await texts(sessionId)).toEqual(["first words", echoOf("first words")]);
    expect(await api.read(sessionId)).toMatchObject({ skippedLines: 0 });
  });
  await step("next prompt", async () => {
    const next = await api.ask({ dir, sessionId, prompt: "second words", waitMs });
    expect(next).toMatchObject({ started: "reconnect", delivered: true, activity: "idle", pid });
    expect(await texts(sessionId)).toContain(echoOf("second words"));
  });
  await step("permission", async () => {
    const asked = await api.ask({ dir, sessionId, prompt: asks, waitMs });
    expect(asked.activity).toBe("needs_permission");
    expect(await readdir(dir)).not.toContain(makes);
    const [permission] = asked.permissions;
    if (permission === undefined) {
      await atTerminal(world, pid, async ({ press, screen }) => {
        await vi.waitFor(async () => expect(await screen()).toContain("Allow once"), patience);
        await press("\r");
      });
    } else {
      const answer = { sessionId, permissionId: permission.permissionId, decision: "allow" };
      expect(await api.post("/api/coding/coding_answer_permission", answer)).toMatchObject({ status: 200 });
    }
    // `expect.poll` does not work in concurrent tests.
    await vi.waitFor(async () => expect(await readdir(dir)).toContain(makes), patience);
    await vi.waitFor(
      async () => expect(await api.read(sessionId)).toMatchObject({ status: "running", activity: "idle" }),
      patience,
    );
  });
  const resumed = await step("resume", async () => {
    await killAndWait(pid);
    const third = await begin(gateway, { dir, sessionId, prompt: "third words", model, waitMs });
    expect(third).toMatchObject({ started: "resumed", delivered: true, activity: "idle", sessionId });
    const all = await texts(sessionId);
    for (const words of ["first words", "second words", "third words"]) {
      expect(all.filter((text) => text === words || text === echoOf(words))).toEqual([words, echoOf(words)]);
    }
    return third;
  });
  await step("close", async () => {
    const closed = await api.post("/api/coding/coding_close_session", { sessionId });
    expect(closed).toMatchObject({ status: 200, body: { status: "completed", pid: null } });
    expect(processRow(resumed.pid ?? 0)).toBeUndefined();
  });
}

/** OpenCode sometimes hangs at its start on a busy machine, which is reported as failed: repeated once. */
async function begin({ api }: TestGateway, input: AskInput): Promise<AskOutput> {
  for (let attempt = 1; ; attempt += 1) {
    const { status, body } = await api.post<AskOutput & Pick<Problem, "code">>("/api/coding/coding_ask", input);
    if (status === 200) return body;
    if (attempt === 2 || body.code !== "agent_start_failed") throw new Error(JSON.stringify(body));
    await sleep(1_000);
  }
}
