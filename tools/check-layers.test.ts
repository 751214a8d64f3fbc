import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { checkLayers } from "./check-layers.ts";

const repository = resolve(import.meta.dirname, "..");

/** A small house in order: every room that the rules speak of, and every kind of import that they allow. */
const house: Readonly<Record<string, string>> = {
  "package.json": JSON.stringify({
    type: "module",
    dependencies: { ai: "*", zod: "*", pino: "*" },
    devDependencies: { vitest: "*" },
  }),
  "node_modules/zod/package.json": '{ "name": "zod", "exports": "./index.js" }',
  "node_modules/zod/index.js": "export const z = 1;",
  "node_modules/ai/package.json": '{ "name": "ai", "exports": "./index.js" }',
  "node_modules/ai/index.js": "export const ai = 1;",
  "node_modules/pino/package.json": '{ "name": "pino", "exports": "./index.js" }',
  "node_modules/pino/index.js": "export const pino = 1;",
  "node_modules/vitest/package.json": '{ "name": "vitest", "exports": "./index.js" }',
  "node_modules/vitest/index.js": "export const test = 1;",
  "src/core/errors.ts": 'import { inspect } from "node:util";\nexport const errors = inspect;\n',
  "src/wire/coding.ts": 'import { z } from "zod";\nexport const coding = z;\n',
  "src/platform/files.ts": 'import { errors } from "../core/errors.ts";\nexport const files = errors;\n',
  "src/storage/index.ts": 'export { errors as storage } from "../core/errors.ts";\n',
  "src/terminal-host/terminal-info.ts": "export interface TerminalInfo { readonly pid: number }\n",
  "src/terminal-host/host.ts": 'import { files } from "../platform/files.ts";\nexport const host = files;\n',
  "src/terminal-host/client.ts":
    'import type { TerminalInfo } from "./terminal-info.ts";\nexport type Client = TerminalInfo;\n',
  "src/folders/index.ts": 'export { storage as folders } from "../storage/index.ts";\n',
  "src/folders/folder-store.ts": "export const folderStore = 1;\n",
  "src/accounts/index.ts": "export const accounts = 1;\n",
  "src/transcripts/index.ts": 'export { turn } from "./turn.ts";\n',
  "src/transcripts/turn.ts": "export const turn = 1;\n",
  "src/agents/index.ts": 'export { registry } from "./registry.ts";\n',
  "src/agents/registry.ts":
    'import { one } from "./one/one.ts";\nimport { two } from "./two/two.ts";\nexport const registry = [one, two];\n',
  "src/agents/transcript-formats.ts": "export const formats = 1;\n",
  "src/agents/one/one.ts": 'import { turn } from "../../transcripts/index.ts";\nexport const one = turn;\n',
  "src/agents/two/two.ts": "export const two = 1;\n",
  "src/catalog/index.ts":
    'import { formats } from "../agents/transcript-formats.ts";\nexport const catalog = formats;\n',
  "src/sessions/index.ts":
    'import type { Client } from "../terminal-host/client.ts";\nexport { launch } from "./launch.ts";\nexport type Session = Client;\n',
  "src/sessions/launch.ts": 'import { registry } from "../agents/index.ts";\nexport const launch = registry;\n',
  "src/terminals/index.ts": 'import { launch } from "../sessions/index.ts";\nexport const terminals = launch;\n',
  "src/logs/model-client.ts": 'export const load = () => import("ai");\n',
  "src/http/server.ts": 'import type { Session } from "../sessions/index.ts";\nexport type Server = Session;\n',
  "src/cli/program.ts": 'import { coding } from "../wire/coding.ts";\nexport const program = coding;\n',
  "web/main.tsx": 'import { coding } from "../src/wire/coding.ts";\nexport const Main = () => <p>{coding}</p>;\n',
  "src/app/app.ts": 'import { folders } from "../folders/index.ts";\nexport const app = folders;\n',
  "src/main.ts":
    'import { program } from "./cli/program.ts";\nexport const main = [program, await import("./app/app.ts")];\n',
};

let root = "";

async function put(file: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, file)), { recursive: true });
  await writeFile(join(root, file), text);
}

async function build(): Promise<void> {
  root = makeTestFolder("layers");
  for (const [file, text] of Object.entries(house)) await put(file, text);
}

async function tearDown(): Promise<void> {
  await rm(root, { recursive: true, force: true });
}

const violations: readonly (readonly [room: string, statement: string, rule: string])[] = [
  ["src/core", 'import { coding } from "../wire/coding.ts";', "core-imports"],
  ["src/core", 'import { z } from "zod";', "core-is-bare"],
  ["src/wire", 'import { errors } from "../core/errors.ts";', "wire-imports"],
  ["src/wire", 'import { readFile } from "node:fs/promises";', "wire-is-zod"],
  ["src/wire", 'import { pino } from "pino";', "wire-is-zod"],
  ["src/platform", 'import { coding } from "../wire/coding.ts";', "platform-imports"],
  ["src/storage", 'import { files } from "../platform/files.ts";', "storage-imports"],
  ["src/terminal-host", 'import { coding } from "../wire/coding.ts";', "terminal-host-imports"],
  ["src/sessions", 'import { folders } from "../folders/index.ts";', "sessions-imports"],
  ["src/sessions", 'import type { Server } from "../http/server.ts";', "sessions-imports"],
  ["src/sessions", 'import { terminals } from "../terminals/index.ts";', "sessions-imports"],
  ["src/sessions", 'import { host } from "../terminal-host/host.ts";', "through-faces"],
  ["src/sessions", 'import { registry } from "../agents/registry.ts";', "through-faces"],
  ["src/sessions", 'import { one } from "../agents/one/one.ts";', "through-faces"],
  ["src/sessions", 'import { app } from "../app/app.ts";', "sessions-imports"],
  ["src/accounts", 'import type { Client } from "../terminal-host/client.ts";', "accounts-imports"],
  ["src/agents", 'import { launch } from "../sessions/index.ts";', "agents-imports"],
  ["src/agents/one", 'import { two } from "../two/two.ts";', "agents-apart"],
  ["src/transcripts", 'await import("../agents/index.ts");', "transcripts-imports"],
  ["src/catalog", 'export * from "../sessions/index.ts";', "catalog-imports"],
  ["src/worktrees", 'import { turn } from "../transcripts/index.ts";', "worktrees-imports"],
  ["src/http", 'import { registry } from "../agents/registry.ts";', "http-imports"],
  ["src/app", 'import { registry } from "../agents/registry.ts";', "through-faces"],
  ["src/cli", 'import { storage } from "../storage/index.ts";', "cli-imports"],
  ["src/mcp", 'import { program } from "../cli/program.ts";', "mcp-imports"],
  ["src/app", 'import { folderStore } from "../folders/folder-store.ts";', "through-faces"],
  ["src/app", 'import { host } from "../terminal-host/host.ts";', "through-faces"],
  ["src/sessions", 'import { test } from "vitest";', "no-dev-dependencies"],
  ["src/logs", 'import { ai } from "ai";', "models-late"],
  ["src/sessions", 'import { gone } from "./gone.ts";', "resolvable"],
  ["web", 'import { errors } from "../src/core/errors.ts";', "web-imports"],
  ["web/api", 'import type { Server } from "../../src/http/server.ts";', "web-imports"],
  ["web/api", 'await import("../../tools/tool.ts");', "web-imports"],
  ["web", 'import { readFile } from "node:fs/promises";', "web-imports"],
  ["src/sessions", 'import { tool } from "../../tools/tool.ts";', "source-only"],
];

describe("a planted violation", () => {
  let problems: readonly string[] = [];

  beforeAll(async () => {
    await build();
    await put("tools/tool.ts", "export const tool = 1;\n");
    for (const [index, [room, statement]] of violations.entries())
      await put(`${room}/seeded-${index}.ts`, `${statement}\n`);
    await put("src/sessions/one.ts", 'import type { Two } from "./two.ts";\nexport type One = Two | 1;\n');
    await put("src/sessions/two.ts", 'import type { One } from "./one.ts";\nexport type Two = One | 2;\n');
    await put("src/attic/box.ts", "export const box = 1;\n");
    await put(
      "src/sessions/sessions.test.ts",
      'import { folders } from "../folders/index.ts";\nexport const seen = folders;\n',
    );
    ({ problems } = await checkLayers(root));
  });
  afterAll(tearDown);

  test.each(violations.map((violation, index) => [...violation, index] as const))(
    "in %s, `%s` breaks %s",
    (...seed) => {
      const [room, , rule, index] = seed;
      const file = `${room}/seeded-${index}.ts`;
      expect(problems).toContainEqual(expect.stringMatching(new RegExp(`^${file} imports .*\\(${rule}\\)`)));
    },
  );

  test("two files that import each other are reported", () => {
    expect(problems).toContainEqual(expect.stringMatching(/^src\/sessions\/(one|two)\.ts .*\(no-cycle\)/));
  });

  test("a folder without rules is reported even when it imports nothing", () => {
    expect(problems).toContainEqual(expect.stringContaining("src/attic/box.ts is in a folder"));
  });

  test("a test can import neighboring folders", () => {
    expect(problems.filter((problem) => problem.includes("sessions.test.ts"))).toEqual([]);
  });
});

describe("a source that keeps the rules", () => {
  beforeEach(build);
  afterEach(tearDown);

  test("reports nothing, and has read every file", async () => {
    const report = await checkLayers(root);
    expect(report.problems).toEqual([]);
    expect(report.modules).toBe(Object.keys(house).filter((file) => /^(src|web)\//.test(file)).length);
    expect(report.imports).toBeGreaterThanOrEqual(14);
  });

  test("exits with 0, and with one planted violation with 1 and its name", async () => {
    expect(await runCommand()).toMatchObject({ code: 0 });
    await put("src/core/seeded.ts", 'import { coding } from "../wire/coding.ts";\n');
    const { code, stderr } = await runCommand();
    expect(code).toBe(1);
    expect(stderr).toContain("src/core/seeded.ts imports src/wire/coding.ts (core-imports)");
  });

  test("fails if the parser is missing and nothing could be read", async () => {
    const hideParser = `import { registerHooks } from "node:module";
      registerHooks({ resolve(specifier, context, next) {
        if (specifier.startsWith("@swc/core")) throw new Error("hidden");
        return next(specifier, context);
      } });`;
    const { code, stderr } = await runCommand("--import", `data:text/javascript,${encodeURIComponent(hideParser)}`);
    expect(code).toBe(1);
    expect(stderr).toContain("too few modules: looked at 0 of");
  });

  test("fails if there are no sources", async () => {
    await rm(join(root, "src"), { recursive: true });
    await mkdir(join(root, "src"));
    expect((await checkLayers(root)).problems).toEqual([expect.stringContaining("no TypeScript file")]);
  });
});

async function runCommand(...nodeArgs: readonly string[]): Promise<{ code: number | null; stderr: string }> {
  const args = [...nodeArgs, join(repository, "tools/check-layers.ts"), root];
  return await new Promise((done) => {
    const child = execFile(process.execPath, args, { cwd: root, timeout: 60_000 }, (_error, _stdout, stderr) => {
      done({ code: child.exitCode, stderr });
    });
  });
}
