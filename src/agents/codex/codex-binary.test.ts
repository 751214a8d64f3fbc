import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { nativeCodex } from "./codex-binary.ts";

const system = `${process.platform}-${process.arch}`;
const triples: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
};

async function makeProgram(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, "#!/bin/sh\n");
  await chmod(path, 0o755);
  return path;
}

async function makeNpmInstall(
  platformFolder: string,
): Promise<{ command: string; packageRoot: string; native: string }> {
  const modules = join(await makeTempFolder(), "node_modules");
  const packageRoot = join(modules, "@openai", "codex");
  const script = await makeProgram(join(packageRoot, "bin", "codex.js"));
  const native = await makeProgram(
    join(packageRoot, platformFolder, `codex-${system}`, "vendor", triples[system] ?? "", "bin", "codex"),
  );
  await mkdir(join(modules, ".bin"));
  const command = join(modules, ".bin", "codex");
  await symlink(script, command);
  return { command, packageRoot, native };
}

test.skipIf(triples[system] === undefined).each(["..", "node_modules/@openai"])(
  "the native program of npm's package is found under %s",
  async (platformFolder) => {
    const { command, packageRoot, native } = await makeNpmInstall(platformFolder);
    expect(await nativeCodex(command)).toEqual({
      binary: native,
      env: { CODEX_MANAGED_PACKAGE_ROOT: packageRoot, CODEX_MANAGED_BY_NPM: "1" },
    });
  },
);

test("a package without a program for this system is started by its script", async () => {
  const script = await makeProgram(join(await makeTempFolder(), "@openai", "codex", "bin", "codex.js"));
  expect(await nativeCodex(script)).toEqual({ binary: script, env: {} });
});

test("any other program is taken as it is", async () => {
  const program = await makeProgram(join(await makeTempFolder(), "codex"));
  expect(await nativeCodex(program)).toEqual({ binary: program, env: {} });
});
