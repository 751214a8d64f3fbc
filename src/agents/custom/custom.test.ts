import { mkdir, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { errorCode } from "../../../test/support/error-code.ts";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import type { AgentTemplate, LaunchRequest } from "../template.ts";
import { createTemplates } from "../templates.ts";
import { createCustomTemplate, customAgentSchema } from "./custom.ts";

const minimal = { name: "my-agent", binary: "my-agent", startArgs: [] };

function template(options: Record<string, unknown>): AgentTemplate {
  return createCustomTemplate(customAgentSchema.parse({ ...minimal, ...options }));
}

const request: LaunchRequest = {
  kind: "start",
  sessionId: "11111111-1111-4111-8111-111111111111",
  dir: "/work",
  prompt: "do it",
  model: null,
  systemPrompt: null,
  permissionMode: "ask",
  binary: "/bin/my-agent",
  env: {},
  launchDir: "/launch",
  hookCommand: "hook",
  permissionTimeoutMs: 60_000,
  trustDir: true,
};

async function argvOf(agent: AgentTemplate, changes: Partial<LaunchRequest> = {}): Promise<readonly string[]> {
  return (await agent.plan({ ...request, ...changes })).argv;
}

test("placeholders are replaced, and a group with a missing value is left out", async () => {
  const agent = template({
    startArgs: [
      "--id={sessionId}",
      ["--model", "{model}"],
      ["-s", "{systemPrompt}"],
      "-C",
      "{dir}",
      ["--", "{prompt}"],
    ],
  });
  const id = `--id=${request.sessionId}`;
  expect(await argvOf(agent)).toEqual(["/bin/my-agent", id, "-C", "/work", "--", "do it"]);
  expect(await argvOf(agent, { prompt: null, model: "m" })).toEqual([
    "/bin/my-agent",
    id,
    "--model",
    "m",
    "-C",
    "/work",
  ]);
});

test("a value with braces is text, not a placeholder, and $& has no special meaning", async () => {
  const agent = template({ startArgs: ["{prompt}", ["{model}"]] });
  expect(await argvOf(agent, { prompt: "{model} $& {dir}", model: "{prompt}" })).toEqual([
    "/bin/my-agent",
    "{model} $& {dir}",
    "{prompt}",
  ]);
});

test("a value without a placeholder in the arguments is refused, never dropped", async () => {
  const agent = template({ startArgs: ["{prompt}"], resumeArgs: ["--resume", "{sessionId}", ["{prompt}"]] });
  expect(agent.accepts).toEqual({ model: false, systemPrompt: false, prompt: true });
  expect(await errorCode(argvOf(agent, { model: "m" }))).toBe("model_not_supported");
  expect(await errorCode(argvOf(agent, { systemPrompt: "s" }))).toBe("invalid_request");
  expect(await errorCode(argvOf(agent, { permissionMode: "all" }))).toBe("invalid_request");
  expect(await argvOf(agent, { kind: "resume", prompt: null })).toEqual([
    "/bin/my-agent",
    "--resume",
    request.sessionId,
  ]);
  expect(await errorCode(argvOf(template({}), { kind: "resume" }))).toBe("agent_start_failed");
});

test("a transcript is found by the pattern of its path", async () => {
  const home = await makeTempFolder();
  const agent = template({
    startArgs: ["{sessionId}"],
    transcript: { format: "claude", path: "~/.my/*/log-{sessionId}.jsonl" },
  });
  await mkdir(join(home, ".my", "project"), { recursive: true });
  const path = join(home, ".my", "project", "log-abc-1.jsonl");
  await writeFile(path, "");
  expect(agent.transcriptFormat).toBe("claude");
  expect(agent.transcriptRoots({ HOME: home })).toEqual([join(home, ".my")]);
  expect(await agent.findTranscript("abc-1", { HOME: home })).toBe(path);
  for (const trick of ["abc-2", "../project/log-abc-1", "*", ".", "", "abc-1\0"]) {
    expect(await agent.findTranscript(trick, { HOME: home })).toBeNull();
  }
});

test.skipIf(process.platform !== "linux")(
  "an id that the agent picks is read from the file that it keeps open",
  async () => {
    const home = await makeTempFolder();
    const agent = template({ idRegime: "discovered", discovery: { openFile: "~/run/{sessionId}.lock" } });
    await mkdir(join(home, "run"));
    const discover = (): Promise<string | null> => agent.discoverSessionId({ pid: process.pid, env: { HOME: home } });
    expect(await discover()).toBeNull();
    const file = await open(join(home, "run", "picked-1.lock"), "w");
    onTestFinished(() => file.close());
    expect(await discover()).toBe("picked-1");
    const second = await open(join(home, "run", "picked-2.lock"), "w");
    expect(await discover()).toBeNull();
    await second.close();
  },
);

test("readiness is a line that matches the pattern, or any output", () => {
  expect(template({}).composerPainted(["", "  "])).toBe(false);
  expect(template({}).composerPainted(["", "hello"])).toBe(true);
  expect(template({ readyPattern: "^> $" }).composerPainted(["hello", "> "])).toBe(true);
  expect(template({ readyPattern: "^> $" }).composerPainted(["hello"])).toBe(false);
});

test.each([
  ["a name with a path", { name: "../x" }],
  ["a binary with a relative path", { binary: "bin/x" }],
  ["a transcript without an id", { startArgs: ["{sessionId}"], transcript: { format: "claude", path: "/x/y.jsonl" } }],
  [
    "a transcript with a relative path",
    { startArgs: ["{sessionId}"], transcript: { format: "claude", path: "x/{sessionId}" } },
  ],
  ["a transcript of an agent that does not get the id", { transcript: { format: "claude", path: "/x/{sessionId}" } }],
  ["an unknown format", { startArgs: ["{sessionId}"], transcript: { format: "other", path: "/{sessionId}" } }],
  ["a regime that finds nothing out", { idRegime: "discovered" }],
  ["a broken pattern", { readyPattern: "(" }],
  ["an unknown field", { startArg: [] }],
])("%s is refused", (_title, options) => {
  expect(customAgentSchema.safeParse({ ...minimal, ...options }).success).toBe(false);
});

test("two agents cannot have the same name", () => {
  const named = (name: string, aliases: readonly string[] = []) =>
    customAgentSchema.parse({ ...minimal, name, aliases });
  expect(createTemplates([named("one"), named("two", ["three"])]).map(({ name }) => name)).toEqual([
    "claude-code",
    "codex",
    "gemini-cli",
    "opencode",
    "one",
    "two",
  ]);
  expect(() => createTemplates([named("codex")])).toThrow('"codex"');
  expect(() => createTemplates([named("one", ["agent_a"])])).toThrow('"claude-code" already does');
  expect(() => createTemplates([named("one"), named("two", ["one"])])).toThrow('"one" already does');
});
