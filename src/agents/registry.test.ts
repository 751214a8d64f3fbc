import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOnBothStores, openSqliteTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { silentLog } from "../core/log.ts";
import { claudeCode } from "./claude-code/claude-code.ts";
import { customAgentSchema } from "./custom/custom.ts";
import { type AgentRegistry, createRegistry, type RegistryDeps } from "./registry.ts";
import { createTemplates } from "./templates.ts";

interface World {
  readonly registry: AgentRegistry;
  readonly env: Record<string, string>;
  readonly bin: string;
  /** Puts a program on PATH that prints its version and counts its starts. */
  install(name: string, version?: string): Promise<string>;
}

async function makeWorld(
  store: Awaited<ReturnType<typeof openSqliteTestStore>>,
  deps: Pick<RegistryDeps, "clock" | "log"> = {},
): Promise<World> {
  const bin = await makeTempFolder();
  const env: Record<string, string> = { PATH: `${bin}:/usr/bin:/bin`, HOME: bin };
  const mine = customAgentSchema.parse({ name: "mine", binary: "my-agent", startArgs: [], keyVariables: ["MY_KEY"] });
  const other = customAgentSchema.parse({ name: "other", aliases: ["second"], binary: "other-agent", startArgs: [] });
  return {
    env,
    bin,
    registry: createRegistry({
      ...deps,
      templates: createTemplates([mine, other]),
      db: store.db,
      gatewayEnv: () => env,
    }),
    async install(name, version = "1.2.3") {
      const path = join(bin, name);
      await writeFile(path, `#!/bin/sh\necho start >>"$0.starts"\necho "${name} ${version} (build)"\n`);
      await chmod(path, 0o755);
      return path;
    },
  };
}

describeOnBothStores("the registry of agents", (openStore) => {
  test("with nothing installed or configured the registry is empty", async () => {
    const { registry } = await makeWorld(await openStore());
    expect(await registry.list()).toEqual({ agents: [], availableAgents: [], default: null });
    expect(await errorCode(registry.resolve(undefined))).toBe("agent_not_configured");
  });

  test("a program on PATH is available, then configured, then the default", async () => {
    const { registry, install, env } = await makeWorld(await openStore());
    const binary = await install("my-agent");
    env["MY_KEY"] = "k";
    const entry = { name: "mine", aliases: [], isDefault: false, binary, version: "1.2.3", login: "key_variable" };
    expect(await registry.list()).toEqual({ agents: [], availableAgents: [entry], default: null });
    expect(await errorCode(registry.resolve("mine"))).toBe("agent_not_configured");
    await registry.configure("mine");
    expect(await registry.list()).toEqual({ agents: [entry], availableAgents: [], default: null });
    await registry.setDefault("mine");
    const { agents, default: name } = await registry.list();
    expect(agents).toEqual([{ ...entry, isDefault: true }]);
    expect(name).toBe("mine");
    await registry.remove("mine");
    await registry.remove("mine");
    expect(await registry.list()).toMatchObject({ agents: [], default: null });
  });

  test("without a name the default is used, then the only agent; otherwise it is an error", async () => {
    const { registry, install } = await makeWorld(await openStore());
    const [mine] = [await install("my-agent"), await install("other-agent")];
    await registry.configure("mine");
    expect(await registry.resolve(undefined)).toMatchObject({ template: { name: "mine" }, binary: mine });
    await registry.configure("second");
    expect(await errorCode(registry.resolve(undefined))).toBe("agent_not_configured");
    await registry.configure("other", { isDefault: true });
    expect((await registry.resolve(undefined)).template.name).toBe("other");
    await registry.setDefault("mine");
    expect((await registry.resolve(undefined)).template.name).toBe("mine");
    expect((await registry.resolve("second")).template.name).toBe("other");
    expect((await registry.list()).agents.filter(({ isDefault }) => isDefault)).toHaveLength(1);
  });

  test("configuring again changes the program and keeps the default", async () => {
    const { registry, install } = await makeWorld(await openStore());
    await install("my-agent");
    const elsewhere = await install("elsewhere", "9.9.9");
    await registry.configure("mine", { isDefault: true });
    await registry.configure("mine", { binary: elsewhere });
    expect((await registry.list()).agents).toMatchObject([{ isDefault: true, binary: elsewhere, version: "9.9.9" }]);
    await registry.configure("mine");
    expect((await registry.list()).agents).toMatchObject([{ version: "1.2.3" }]);
  });
});

test("an unknown name, an unconfigured agent and a missing program are different errors", async () => {
  const { registry, install, bin } = await makeWorld(await openSqliteTestStore());
  expect(await errorCode(registry.resolve("unknown"))).toBe("agent_unknown");
  expect(await errorCode(registry.configure("unknown"))).toBe("agent_unknown");
  expect(await errorCode(registry.setDefault("mine"))).toBe("agent_not_configured");
  expect(await errorCode(registry.configure("mine"))).toBe("agent_binary_missing");
  expect(await errorCode(registry.configure("mine", { binary: join(bin, "none") }))).toBe("agent_binary_missing");
  await install("my-agent");
  await registry.configure("mine");
  await chmod(join(bin, "my-agent"), 0o644);
  expect(await errorCode(registry.resolve("mine"))).toBe("agent_binary_missing");
  expect((await registry.list()).agents).toMatchObject([
    { name: "mine", binary: null, version: null, login: "unknown" },
  ]);
});

test("names and aliases find the built-in agents", async () => {
  const { registry } = await makeWorld(await openSqliteTestStore());
  expect(registry.template("agent_a").name).toBe("claude-code");
  expect(registry.template("agent_b").name).toBe("codex");
});

test("the version is determined once for each state of the program", async () => {
  const { registry, install } = await makeWorld(await openSqliteTestStore());
  const binary = await install("my-agent");
  const starts = async (): Promise<number> => (await readFile(`${binary}.starts`, "utf8")).trim().split("\n").length;
  await Promise.all([registry.list(), registry.list(), registry.list()]);
  await registry.list();
  expect(await starts()).toBe(1);
  await install("my-agent", "1.2.4-beta.1");
  expect((await registry.list()).availableAgents).toMatchObject([{ version: "1.2.4-beta.1" }]);
  expect(await starts()).toBe(2);
});

const claude = { minimum: "2.1.200", newestTested: claudeCode.releases?.newestTested };

test("an agent that is too old is neither configured nor started, until it is updated", async () => {
  const { registry, install } = await makeWorld(await openSqliteTestStore());
  await install("claude", "2.1.197");
  const refusal = `Claude Code 2.1.197 is too old: Postern needs ${claude.minimum} or newer. Run \`npm install -g @anthropic-ai/claude-code@latest\`.`;
  const refused = { code: "agent_version_unsupported", message: refusal };
  await expect(registry.configure("claude-code")).rejects.toMatchObject(refused);
  await install("claude", claude.minimum);
  await registry.configure("claude-code");
  expect(await registry.resolveForLaunch(undefined)).toMatchObject({ template: { name: "claude-code" } });
  await install("claude", "2.1.197");
  await expect(registry.resolveForLaunch("claude-code")).rejects.toMatchObject(refused);
  expect(await registry.resolve("claude-code")).toMatchObject({ template: { name: "claude-code" } });
  await install("claude", claude.minimum);
  await registry.resolveForLaunch("agent_a");
});

test("an unknown version, and a custom agent of any version, are started", async () => {
  const { registry, install } = await makeWorld(await openSqliteTestStore());
  for (const [name, program, version] of [
    ["codex", "codex", "unknown"],
    ["mine", "my-agent", "0.0.1"],
  ] as const) {
    await install(program, version);
    await registry.configure(name);
    await registry.resolveForLaunch(name);
  }
});

test("starts do not determine a version that is known", async () => {
  const { registry, install } = await makeWorld(await openSqliteTestStore());
  const binary = await install("claude", claude.minimum);
  const starts = async (): Promise<number> => (await readFile(`${binary}.starts`, "utf8")).trim().split("\n").length;
  await registry.configure("claude-code");
  await install("claude", "2.1.201");
  await registry.probeVersions();
  expect(await starts()).toBe(2);
  for (let start = 0; start < 3; start += 1) await registry.resolveForLaunch("claude-code");
  expect(await starts()).toBe(2);
});

test("a start waits five seconds for a version", async () => {
  const clock = createFakeClock();
  const { registry, install } = await makeWorld(await openSqliteTestStore(), { clock });
  const binary = await install("claude", claude.minimum);
  await registry.configure("claude-code");
  await writeFile(binary, '#!/bin/sh\nwhile [ ! -e "$0.answers" ]; do sleep 0.05; done\necho 2.1.197\n');
  const starting = registry.resolveForLaunch("claude-code");
  await expect.poll(() => clock.nextAt).not.toBeNull();
  await clock.advance(5_000);
  expect(await starting).toMatchObject({ binary });
  await writeFile(`${binary}.answers`, "");
  await expect.poll(() => errorCode(registry.resolveForLaunch("claude-code"))).toBe("agent_version_unsupported");
});

test("a version that is newer than the tested ones is started, and logged once", async () => {
  const logged: unknown[] = [];
  const log = { ...silentLog, warn: (...entry: readonly unknown[]) => void logged.push(entry) };
  const { registry, install } = await makeWorld(await openSqliteTestStore(), { log });
  for (const version of ["99.0.0", "99.0.1"]) {
    await install("claude", version);
    await registry.configure("claude-code");
    for (let start = 0; start < 2; start += 1) await registry.resolveForLaunch("claude-code");
  }
  const entry = { agent: "claude-code", newestTested: claude.newestTested };
  const message = "this version of the agent is untested";
  expect(logged).toEqual([
    [{ ...entry, version: "99.0.0" }, message],
    [{ ...entry, version: "99.0.1" }, message],
  ]);
});

test("PATH is looked up each time", async () => {
  const { registry, install, env } = await makeWorld(await openSqliteTestStore());
  await install("my-agent");
  expect((await registry.list()).availableAgents).toHaveLength(1);
  env["PATH"] = "/usr/bin:/bin";
  expect((await registry.list()).availableAgents).toHaveLength(0);
});

test("the login state is cached, and read again when it may have changed", async () => {
  const { registry, install, env } = await makeWorld(await openSqliteTestStore());
  await install("my-agent");
  const login = async () => (await registry.list()).availableAgents[0]?.login;
  expect(await login()).toBe("unknown");
  env["MY_KEY"] = "1";
  expect(await login()).toBe("unknown");
  registry.loginChanged("other");
  expect(await login()).toBe("unknown");
  registry.loginChanged("mine");
  expect(await login()).toBe("key_variable");
});
