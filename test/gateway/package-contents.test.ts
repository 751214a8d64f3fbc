import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { cp, mkdtemp, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runNpm } from "../../tools/npm.ts";
import { packPostern } from "../../tools/pack.ts";
import { packageCache, packageSchema } from "../../tools/package-install.ts";

const run = promisify(execFile);
const repository = resolve(import.meta.dirname, "../..");

let tarball = "";
/** What is in the tarball, laid out. */
let root = "";
let files: readonly string[] = [];
beforeAll(async () => {
  ({ tarball } = await packPostern(console.log));
  const folder = await mkdtemp(join(packageCache, "contents-"));
  await run("tar", ["-xzf", tarball, "-C", folder]);
  root = join(folder, "package");
  const found = globSync("**/*", { cwd: root, withFileTypes: true }).filter((entry) => entry.isFile());
  files = found.map((entry) => relative(root, join(entry.parentPath, entry.name)));
}, 240_000);
afterAll(() => rm(join(root, ".."), { recursive: true, force: true }));

test("the tarball holds the command, what it runs, its license and its words, and nothing of how it is made", async () => {
  const tops = new Set(files.map((file) => file.split("/")[0]));
  expect(tops).toEqual(new Set(["CHANGELOG.md", "LICENSE", "README.md", "bin", "dist", "package.json"]));
  const needed = [
    "bin/newer-node.cjs",
    "bin/postern.js",
    "dist/main.js",
    "dist/postern.1",
    "dist/terminal-host/main.js",
    "dist/packages/fastify.js",
    "dist/web/index.html",
  ];
  expect(files).toEqual(expect.arrayContaining(needed));
  expect(files.filter((file) => /\.test\.|\.tsx?$|\.map$|fixture|node_modules|tsbuildinfo/.test(file))).toEqual([]);
  const { version, scripts } = packageSchema.parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
  expect(scripts, "`npm pack` builds first").toMatchObject({ prepack: "node tools/build.ts" });
  expect(await readFile(join(root, "CHANGELOG.md"), "utf8")).toMatch(
    new RegExp(`^## \\[(Unreleased|${version})\\]`, "m"),
  );
  expect(await readFile(join(root, "LICENSE"), "utf8")).toMatch(/^MIT License/);
});

test("a global install has the command and its manual page", async () => {
  const folder = join(root, "../global");
  await cp(root, join(folder, "package"), { recursive: true });
  const {
    dependencies: _unused,
    scripts: _none,
    ...alone
  } = packageSchema.parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
  await writeFile(join(folder, "package/package.json"), JSON.stringify(alone));
  await runNpm(["pack", "--silent", "--pack-destination", folder], { cwd: join(folder, "package") });
  const packed = join(folder, `postern-${alone.version}.tgz`);
  await runNpm(["install", "--global", "--offline", "--prefix", join(folder, "prefix"), packed], { cwd: folder });
  expect(await realpath(join(folder, "prefix/bin/postern"))).toMatch(/\/postern\/bin\/postern\.js$/);
  const page = await readFile(join(folder, "prefix/share/man/man1/postern.1"), "utf8");
  expect(page).toContain(".SS postern coding ask");
});

test("every file of the source is in it built, and scripts that others run may be run", async () => {
  const sources = globSync("**/*.{ts,mjs,sh}", { cwd: join(repository, "src") }).filter(
    (file) => !file.endsWith(".test.ts"),
  );
  expect(sources.length).toBeGreaterThan(300);
  expect(files).toEqual(expect.arrayContaining(sources.map((file) => join("dist", file.replace(/\.ts$/, ".js")))));
  expect((await stat(join(root, "bin/postern.js"))).mode & 0o111).toBe(0o111);
  for (const script of sources.filter((file) => file.endsWith(".sh"))) {
    expect((await stat(join(root, "dist", script))).mode & 0o111, script).toBe(0o111);
  }
});

test("it is small", async () => {
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(root, file))).size));
  const unpacked = sizes.reduce((sum, size) => sum + size, 0);
  const packed = (await stat(tarball)).size;
  expect(packed).toBeLessThan(4_000_000);
  expect(unpacked).toBeLessThan(10_000_000);
});

test("nothing in it imports what is not installed with it", async () => {
  const { dependencies } = packageSchema.parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
  const scripts = files.filter((file) => /^(bin|dist)\/.*\.m?js$/.test(file) && !file.startsWith("dist/web/"));
  const imported = new Set<string>();
  for (const file of scripts) {
    const text = await readFile(join(root, file), "utf8");
    for (const [, from = ""] of text.matchAll(/^(?:(?:import|export|\})[^"'*;]*\bfrom|import) "([^"]+)";$/gm))
      imported.add(from);
    // What is bundled holds code as text, and requires that were taken in.
    if (file.startsWith("dist/packages/")) continue;
    for (const [, from = ""] of text.matchAll(/\b(?:import|require)\("([^"]+)"\)/g)) imported.add(from);
  }
  const packages = [...imported]
    .filter((name) => /^(@[\w-]+\/)?[\w-]+/.test(name) && !name.startsWith("node:"))
    .map((name) =>
      name
        .split("/")
        .slice(0, name.startsWith("@") ? 2 : 1)
        .join("/"),
    );
  expect(packages).toEqual(expect.arrayContaining(["commander", "jose", "oidc-provider"]));
  const known = new Set([...Object.keys(dependencies), ...builtinModules]);
  expect(packages.filter((name) => !known.has(name))).toEqual([]);
});
