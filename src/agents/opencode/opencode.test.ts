import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createOpenCodeDatabase, recordedEvents, recordedSession } from "../../../test/support/opencode-database.ts";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import type { LaunchRequest } from "../template.ts";
import { isBeforeDatabase, openCode, openCodeArguments } from "./opencode.ts";

/** Visible lines as OpenCode 1.18.33 painted them. */
const composer = ["  ┃", "  ┃  Build · Alpha Lab", `  ╹${"▀".repeat(100)}`];
const foot = "   /code/project                                   130  ctrl+p commands";

test.each([
  ["after the start", ["  ┃  Ask anything… ", ...composer, "  tab agents  ctrl+p commands"], true],
  [
    "under an answer",
    ["  ┃  hello there", "     ECHO hello", "     ▣  Build · Alpha · 48.5s", ...composer, foot],
    true,
  ],
  ["where everything is allowed", ["  ┃", "  ┃  Build auto · Alpha Lab", `  ╹${"▀".repeat(100)}`, foot], true],
  ["with typed lines", ["  ┃  look at @README.md", ...composer, foot], true],
  ["in a dialog", ["  ┃  △ Permission required", "  ┃  $ touch x", "  ┃   Allow once   Allow always   Reject"], false],
  ["before it is there", ["     ▣  Build · Alpha"], false],
  ["of nothing", ["", ""], false],
])("whether the composer is painted, %s", (_title, lines, painted) => {
  expect(openCode.composerPainted(lines)).toBe(painted);
});

test.each([
  [
    { hook_event_name: "PermissionRequest", tool_name: "bash", tool_input: { command: "ls" } },
    { kind: "permission_asked", asks: "permission", tool: "bash" },
  ],
  [
    { hook_event_name: "PermissionRequest", tool_name: "question", tool_input: { questions: [] } },
    { kind: "permission_asked", asks: "question" },
  ],
  [
    { hook_event_name: "StopFailure", error: "ProviderAuthError", last_assistant_message: "No key." },
    { kind: "turn_failed", message: "No key.", needs: "login" },
  ],
  [
    { hook_event_name: "StopFailure", error: "APIError" },
    { kind: "turn_failed", message: "APIError" },
  ],
  [{ hook_event_name: "Stop" }, { kind: "turn_ended" }],
])("the plugin's report %j becomes an event", (payload, event) => {
  const claim = openCode.parseHook(JSON.stringify({ session_id: "ses_a", ...payload }));
  expect(claim).toMatchObject({ event, agentSessionId: "ses_a" });
});

describe("a launch", () => {
  async function makeRequest(change: Partial<LaunchRequest> = {}): Promise<LaunchRequest> {
    const launchDir = await makeTempFolder();
    return {
      kind: "start",
      sessionId: "00000000-0000-4000-8000-000000000000",
      dir: "/code/project",
      prompt: null,
      model: null,
      systemPrompt: null,
      permissionMode: "ask",
      binary: "/bin/opencode",
      launchDir,
      hookCommand: "hook",
      permissionTimeoutMs: 1_000,
      trustDir: true,
      ...change,
      env: { HOME: launchDir, ...change.env },
    };
  }

  const configSchema = z.looseObject({ plugin: z.array(z.string()), instructions: z.array(z.string()).optional() });
  const configOf = (env: Readonly<Record<string, string>>) =>
    configSchema.parse(JSON.parse(env["OPENCODE_CONFIG_CONTENT"] ?? ""));

  test("passes the plugin in addition to the environment's configuration, and asks for permission for everything except reading", async () => {
    const own = {
      OPENCODE_CONFIG_CONTENT: '{"plugin":["mine"],"theme":"x"}',
      OPENCODE_PERMISSION: '{"bash":"allow","webfetch":"deny"}',
    };
    const request = await makeRequest({ env: own, model: "local/a", systemPrompt: "be brief" });
    const { argv, env } = await openCode.plan(request);
    expect(argv).toEqual(["/bin/opencode", "--model=local/a"]);
    const config = configOf(env);
    expect(config).toMatchObject({
      theme: "x",
      plugin: ["mine", expect.stringMatching(/^file:.*opencode-plugin\.mjs$/)],
    });
    const [file = ""] = config.instructions ?? [];
    expect(await readFile(file, "utf8")).toBe("be brief");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const rules = JSON.parse(env["OPENCODE_PERMISSION"] ?? "");
    expect(rules).toMatchObject({ "*": "ask", glob: "allow", read: { "*": "allow", "*.env": "ask" } });
    // By name, because a configuration that allows it by name puts that after its own "*".
    expect(rules).toMatchObject({ bash: "ask", edit: "ask", webfetch: "ask", external_directory: "ask" });
    const again = await openCode.plan({ ...request, env: { ...request.env, ...env } });
    expect(configOf(again.env).plugin, "in a gateway that runs in such a session").toEqual(config.plugin);
  });

  test("can edit, or do everything that is not forbidden", async () => {
    const edits = await openCode.plan(await makeRequest({ permissionMode: "edits" }));
    expect(JSON.parse(edits.env["OPENCODE_PERMISSION"] ?? "")).toMatchObject({ "*": "ask", edit: "allow" });
    const all = await openCode.plan(await makeRequest({ permissionMode: "all" }));
    expect(all.argv).toEqual(["/bin/opencode", "--auto"]);
    expect(all.env).not.toHaveProperty("OPENCODE_PERMISSION");
  });

  test("resumes only a session that is in the database: for any other OpenCode would start a new one", async () => {
    const home = await makeTempFolder();
    const folder = join(home, ".local", "share", "opencode");
    await mkdir(folder, { recursive: true });
    const database = createOpenCodeDatabase(folder);
    onTestFinished(() => database.close());
    database.append(recordedSession, recordedEvents.slice(0, 4));
    const request = await makeRequest({ kind: "resume", sessionId: recordedSession, env: { HOME: home } });
    expect(await openCode.plan(request)).toMatchObject({
      argv: ["/bin/opencode", `--session=${recordedSession}`],
      env: { POSTERN_OPENCODE_RESUMED: recordedSession },
    });
    expect(await openCode.findTranscript(recordedSession, request.env)).toBe(join(database.path, recordedSession));
    expect(await openCode.findTranscript("ses_other", request.env)).toBeNull();
    await expect(openCode.plan({ ...request, sessionId: "ses_other" })).rejects.toMatchObject({
      code: "agent_start_failed",
    });
  });

  test("is refused if the environment's configuration is not JSON", async () => {
    const request = await makeRequest({ env: { OPENCODE_CONFIG_CONTENT: "{ // mine" } });
    await expect(openCode.plan(request)).rejects.toMatchObject({ code: "agent_start_failed" });
  });
});

test("a login takes precedence over a key, and without either the state is unknown", async () => {
  const home = await makeTempFolder();
  const login = (env: object) => openCode.loginState("opencode", { HOME: home, ...env });
  expect(await login({})).toBe("unknown");
  expect(await login({ ANTHROPIC_API_KEY: "sk-1" })).toBe("key_variable");
  await mkdir(join(home, ".local/share/opencode"), { recursive: true });
  await writeFile(join(home, ".local/share/opencode/auth.json"), '{"anthropic":{"type":"api","key":"sk-1"}}');
  expect(await login({})).toBe("logged_in");
});

test.skipIf(process.platform !== "linux")("a session that a user's own OpenCode started with is found", async () => {
  const home = await makeTempFolder();
  await mkdir(join(home, "bin"));
  await writeFile(join(home, "bin/opencode"), "setInterval(() => undefined, 1_000); console.log('ready');");
  const start = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const child = spawn(process.execPath, [join(home, "bin/opencode"), ...args], {
      env: { HOME: home, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    return child.pid ?? 0;
  };
  const pid = await start(["--session=ses_a"]);
  await start(["-s", "ses_elsewhere"], { XDG_DATA_HOME: join(home, "elsewhere") });
  await start(["-s", "ses_own"], { POSTERN_SESSION_INBOX: join(home, "inbox") });
  await start([]);
  const sessions = await openCode.externalSessions({ HOME: home });
  expect([...sessions]).toEqual([["ses_a", { pid, activity: null }]]);
  expect(await openCode.externalHolder("ses_a", { HOME: home })).toEqual({ pid, activity: null });
  expect(await openCode.externalHolder("ses_own", { HOME: home })).toBeNull();
});

test.skipIf(process.platform !== "linux")(
  "a process that has not opened its database is distinguished from one that has",
  async () => {
    const folder = await makeTempFolder();
    const link = join(await makeTempFolder(), "moved");
    await symlink(folder, link);
    const database = join(link, "opencode.db");
    expect(isBeforeDatabase(process.pid, database)).toBe(true);
    const child = spawn("sh", ["-c", 'exec 3>"$1"; echo open; read -r _', "sh", database]);
    onTestFinished(() => void child.kill());
    await once(child.stdout, "data");
    expect(isBeforeDatabase(process.pid, database)).toBe(false);
    expect(isBeforeDatabase(2 ** 22 + 1, database), "gone").toBe(false);
  },
);

test.each<readonly [readonly string[], string | null]>([
  [["opencode", "--session=ses_a"], "ses_a"],
  [["/opt/opencode/bin/opencode", "--model=m", "--session", "ses_a"], "ses_a"],
  [["node", "/usr/bin/opencode", "run", "-s", "ses_a", "hello"], "ses_a"],
  [["opencode", "--continue"], null],
  [["opencode", "--prompt=--session=ses_a"], null],
  [["opencode", "--session=../x"], null],
  [["vim", "opencode", "--session=ses_a"], null],
])("the arguments %j name the session %s", (argv, named) => {
  expect(openCodeArguments(argv)).toBe(named);
});
