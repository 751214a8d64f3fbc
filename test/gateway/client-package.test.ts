import { execFile } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { runNpm } from "../../tools/npm.ts";
import { codeBlocks } from "../support/documentation.ts";
import { makeTestFolder } from "../support/test-folder.ts";
import { useGateway } from "../support/use-gateway.ts";

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../..");
const packageDir = join(root, "packages/client");
const used = useGateway({ agents: "scripted" });
/** A project with the package installed. */
const project = makeTestFolder("client-package");
const installed = join(project, "node_modules/postern-client");
let readme = "";

beforeAll(async () => {
  await mkdir(installed, { recursive: true });
  const path = `${join(root, "node_modules/.bin")}:${process.env["PATH"]}`;
  await runNpm(["pack", "--silent", `--pack-destination=${project}`], {
    cwd: packageDir,
    env: { ...process.env, PATH: path },
  });
  const [tarball = ""] = globSync("*.tgz", { cwd: project });
  await run("tar", ["-xzf", join(project, tarball), "-C", installed, "--strip-components=1"]);
  readme = await readFile(join(packageDir, "README.md"), "utf8");
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  await writeFile(join(project, "example.ts"), await example());
}, 120_000);

/** The examples of the README, as one program for the gateway of this test. */
async function example(): Promise<string> {
  const { accounts, agents } = used.gateway.app;
  await agents.configureAll([], "scripted");
  const wanted = { name: "client", scopes: ["coding:read", "coding:write"], folders: null, expiresAt: null } as const;
  const { token } = await accounts.tokens.create((await accounts.owner()).accountId, wanted);
  const [call = "", error = "", events = "", terminal = ""] = codeBlocks(readme).flatMap(({ language, code }) =>
    language === "ts" ? [code] : [],
  );
  // The turn of the first example has ended: another one for its events.
  const again = `const next = client.codingAsk({ sessionId: session.sessionId, dir: session.dir, prompt: "And now?" });`;
  return `${call}\n${error}\n${again}\n${events}\nawait next;\n${terminal}\n`
    .replace("http://localhost:7177", used.gateway.url)
    .replace("pst_…", token)
    .replace("/home/me/project", used.world.repository);
}

test("the package has its code, types, README and license, and depends on nothing", async () => {
  const files = globSync(["LICENSE", "**/*.*"], { cwd: installed }).toSorted();
  const modules = ["call", "client", "client-error", "event-stream", "index", "operations"];
  const built = modules.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]);
  expect(files).toEqual(["LICENSE", "README.md", ...built, "package.json"].toSorted());
  const manifest: Record<string, unknown> = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
  expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
  for (const file of built) {
    const imports = [...(await readFile(join(installed, file), "utf8")).matchAll(/from "([^"]+)"/g)];
    expect(imports.filter(([, from = ""]) => !from.startsWith("./"))).toEqual([]);
  }
});

test("the examples of its README have correct types", async () => {
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024", "--lib", "es2024,dom"];
  const check = run(join(root, "node_modules/.bin/tsc"), [...options, "--types", "", "example.ts"], { cwd: project });
  await expect(check).resolves.toMatchObject({ stdout: "" });
});

/** From `test/runtimes`; see `tools/test.ts`. */
const runtimes = {
  node: [process.execPath],
  deno: [join(root, "test/runtimes/node_modules/@deno/linux-x64-glibc/deno"), "run", "--allow-net", "--no-lock"],
  bun: [join(root, "test/runtimes/node_modules/@oven/bun-linux-x64/bin/bun")],
} as const;

test.for(Object.entries(runtimes))("they run in %s", async ([name, [program, ...args]], { skip }) => {
  if (!existsSync(program)) skip(`${name} is not installed: \`npm run test:full\` installs it on Linux x64.`);
  const { stdout, stderr } = await run(program, [...args, "example.ts"], { cwd: project, timeout: 60_000 });
  expect(stdout, stderr).toContain("user: What is here?");
  expect(stdout).toContain("assistant: ");
  expect(stdout).toContain("session_not_found 404");
  expect(stdout).toContain("connecting\nlive\n");
  expect(stdout).toMatch(/session\.turn_ended\n\d+ characters of output\n$/);
});
