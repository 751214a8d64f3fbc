import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { descendantsOf, isAlive } from "../../src/platform/processes.ts";
import { type BootedContainer, whyNotContained } from "../../tools/contained.ts";
import { type ModelServer, startModelServer } from "../model-server/model-server.ts";
import { type ContainerScene, makeContainerRepository, makeContainerScene } from "../support/container-scene.ts";

const why = whyNotContained();
const agents = ["claude-code", "codex"] as const;
const keys = { anthropic: "sk-scripted-anthropic-0000000000000000", openai: "sk-scripted-openai-0000000000000000" };

// One container's life, from its first boot to its end, in this order.
describe.skipIf(why !== null)(`a container${why === null ? "" : ` (skipped: ${why})`}`, () => {
  let scene: ContainerScene;
  let model: ModelServer;
  let container: BootedContainer;
  let refused: { readonly output: string; readonly left: readonly string[] };
  let env: Readonly<Record<string, string>>;
  let dir = "";
  let stateBefore: unknown;
  const sessions: string[] = [];

  beforeAll(async () => {
    const [made, server, port] = await Promise.all([makeContainerScene(), startModelServer(), freePort()]);
    scene = made;
    model = server;
    dir = await makeContainerRepository(scene);
    // As compose.yaml with a postern.env: a key of each vendor, one of them as a secret in a file.
    await scene.writeSecret("anthropic", `${keys.anthropic}\n`);
    env = {
      POSTERN_PORT: String(port),
      POSTERN_INSECURE_HTTP: "1",
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY_FILE: "/run/secrets/anthropic",
      OPENAI_BASE_URL: `${model.url}/v1`,
      OPENAI_API_KEY: keys.openai,
    };
    const open = await scene.boot({ ...env, POSTERN_INSECURE_HTTP: "" });
    expect(open.init()).toBe(null);
    refused = { output: open.output(), left: await readdir(scene.home) };
    container = await scene.boot(env);
  }, 120_000);

  afterAll(async () => {
    await scene?.close();
    await model?.close();
  });

  test("without confirming that its port stays on this machine, it is refused before creating or printing anything", () => {
    expect(refused.output).toMatch(/^postern: unsafe_configuration: .*\n$/);
    expect(refused.left.filter((name) => name !== ".cache")).toEqual([]); // compiled code
  });

  test("its first boot configures both agents with their keys and the repositories' folder, and prints a link that signs in", async () => {
    const output = container.output();
    expect(output).toMatch(/^claude-code +default +key_variable /m);
    expect(output).toMatch(/^codex +configured +key_variable /m);
    expect(output).not.toContain("is not logged in");
    expect(output).toContain("Registered /code for files, coding.\n");
    const origin = `http://localhost:${env["POSTERN_PORT"]}`;
    const [, link] =
      new RegExp(`Sign in \\(single use, expires in 10 minutes\\): ${origin}/sign-in#(\\S+)\n`).exec(output) ?? [];
    const signIn = () =>
      fetch(`${origin}/api/sign-in`, {
        method: "POST",
        headers: { "content-type": "application/json", origin },
        body: JSON.stringify({ link }),
      });
    expect((await signIn()).status).toBe(200);
    expect((await signIn()).status).toBe(401);
  });

  test("the image's health command reports it as healthy, and a missing answer as unhealthy", async () => {
    const [program = "", ...args] = scene.image.healthcheck ?? [];
    expect(await container.exec(program, ...args)).toMatchObject({ code: 0 });
    expect(await scene.run([program, ...args], { POSTERN_PORT: String(await freePort()) })).toMatchObject({ code: 1 });
  });

  test("both agents work with their keys and without a dialog", async () => {
    const answers = await Promise.all(
      agents.map((agent) =>
        container.exec("postern", "coding", "ask", "--json", "--dir", dir, "--agent", agent, "say marmalade"),
      ),
    );
    for (const { code, stdout, stderr } of answers) {
      expect([code, stdout], stderr).toEqual([0, expect.stringContaining("marmalade")]);
      sessions.push(String(JSON.parse(stdout).sessionId));
    }
    const sent = model.requests
      .filter(({ kind }) => kind === "turn")
      .map(({ headers }) => headers["x-api-key"] ?? headers["authorization"]);
    expect(new Set(sent)).toEqual(new Set([keys.anthropic, `Bearer ${keys.openai}`]));
  });

  test("no process is root or can become it, its root folder is read-only, and orphans are reaped", async () => {
    const statuses = await container.exec("sh", "-c", "cat /proc/[0-9]*/status");
    const said = (field: string): readonly string[] => [
      ...new Set([...statuses.stdout.matchAll(new RegExp(`^${field}:\\t(.*)$`, "gm"))].map(([, value = ""]) => value)),
    ];
    expect(said("Uid")).toEqual(["1000\t1000\t1000\t1000"]);
    expect([said("CapEff"), said("CapBnd"), said("NoNewPrivs")]).toEqual([
      ["0000000000000000"],
      ["0000000000000000"],
      ["1"],
    ]);
    expect(await container.exec("touch", "/opt/postern/new")).toMatchObject({ code: 1 });
    await container.exec("sh", "-c", "setsid sleep 0.1 &");
    const orphans = async (): Promise<string> => (await container.exec("sh", "-c", "cat /proc/[0-9]*/stat")).stdout;
    await expect.poll(orphans, { timeout: 10_000 }).not.toContain("(sleep)");
  });

  test("at its stop the agents end in good order, and no process is left", async () => {
    stateBefore = stateOf(scene);
    const processes = descendantsOf(container.init() ?? 0);
    expect(processes.length).toBeGreaterThan(4);
    const { code, stderr } = await container.stop();
    expect([code, stderr]).toEqual([0, expect.stringContaining("SIGTERM: stopping the gateway. Agents are stopped")]);
    expect(processes.filter(({ pid, startTime }) => isAlive(pid, startTime))).toEqual([]);
    // Claude Code removes its state file at its end; one that was killed leaves it.
    expect(await readdir(join(scene.home, ".claude/sessions"))).toEqual([]);
    expect(await readFile(join(scene.home, ".postern/terminal-host/host.log"), "utf8")).toContain("exiting");
  });

  test("another boot changes nothing, prints no link, and keeps the sessions", async () => {
    container = await scene.boot(env);
    expect(container.output()).toContain("Already set up. Nothing changed.\n");
    expect(container.output()).not.toContain("/sign-in#");
    expect(stateOf(scene)).toEqual(stateBefore);
    for (const sessionId of sessions) {
      const went = await container.exec(
        "postern",
        "coding",
        "ask",
        "--dir",
        dir,
        "--session",
        sessionId,
        "say apricot",
      );
      expect([went.code, went.stdout], went.stderr).toEqual([0, expect.stringContaining("apricot")]);
    }
    expect(await container.stop()).toMatchObject({ code: 0 });
  });

  test("a key that is said twice is refused", async () => {
    const twice = await scene.run(["postern", "--version"], { ...env, ANTHROPIC_API_KEY: keys.anthropic });
    expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining("ANTHROPIC_API_KEY_FILE are both set")]);
    const missing = await scene.run(["postern", "--version"], { OPENAI_API_KEY_FILE: "/run/secrets/none" });
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("/run/secrets/none")]);
  });
});

/** What is set up, byte for byte: the files that hold settings, and every row of the tables that do. */
function stateOf({ home }: ContainerScene): unknown {
  const database = new DatabaseSync(join(home, ".postern/postern.db"), { readOnly: true });
  const tables = [
    "accounts",
    "configured_agents",
    "folders",
    "sign_in_links",
    "personal_tokens",
    "audit_entries",
    "oauth_keys",
  ];
  const rows = tables.map((table) => [table, database.prepare(`SELECT * FROM ${table} ORDER BY 1`).all()]);
  database.close();
  const files = ["key", "gateway-id"].map((name) => hashOf(join(home, ".postern", name)));
  return JSON.stringify([rows, files]);
}

function hashOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("No port is free.");
  return address.port;
}
