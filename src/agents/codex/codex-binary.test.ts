import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { explainSandbox, nativeCodex } from "./codex-binary.ts";

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

test("a package without a program for this system is started through its script", async () => {
  const script = await makeProgram(join(await makeTempFolder(), "@openai", "codex", "bin", "codex.js"));
  expect(await nativeCodex(script)).toEqual({ binary: script, env: {} });
});

test("any other program is used as it is", async () => {
  const program = await makeProgram(join(await makeTempFolder(), "codex"));
  expect(await nativeCodex(program)).toEqual({ binary: program, env: {} });
});

// The output of Codex 0.156.0, 0.159.3 and 0.169.0, which differs only in line numbers.
const refused =
  "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)\n";
const missing = `
thread 'main' (12698) panicked at linux-sandbox/src/launcher.rs:60:13:
bubblewrap is unavailable: no system bwrap was found on PATH and no bundled codex-resources/bwrap binary was found next to the Codex executable
stack backtrace:
note: Some details are omitted, run with \`RUST_BACKTRACE=full\` for a verbose backtrace.
`;
const withoutHelper = `WARNING: proceeding, even though we could not create PATH aliases: No such file or directory (os error 2)
bwrap: execvp codex-linux-sandbox: No such file or directory
`;

function explain(stderr: string, settings: Readonly<Record<string, string>> = {}) {
  const kernel = (name: string): string | null => settings[name] ?? null;
  return explainSandbox(stderr, kernel);
}

test("the fix for a missing bubblewrap is to install Codex's own package", () => {
  expect(explain(missing)).toEqual({
    message: expect.stringContaining("bubblewrap is not installed"),
    fix: "npm install --global @openai/codex",
  });
});

test.each([
  [{ "user/max_user_namespaces": "0" }, "sudo sysctl -w user.max_user_namespaces=15000"],
  [{ "kernel/unprivileged_userns_clone": "0" }, "sudo sysctl -w kernel.unprivileged_userns_clone=1"],
  [
    { "user/max_user_namespaces": "96365", "kernel/apparmor_restrict_unprivileged_userns": "1" },
    "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
  ],
  [{ "user/max_user_namespaces": "96365", "kernel/apparmor_restrict_unprivileged_userns": "0" }, null],
])("the fix for user namespaces refused with %j is %s", (settings, fix) => {
  expect(explain(refused, settings)).toEqual({ message: expect.stringContaining("(ENOSPC)"), fix });
});

test.each([
  "bwrap: setting up uid map: Permission denied",
  "bwrap: No permissions to create a new namespace, likely because the kernel does not allow non-privileged user namespaces.",
  "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
])("%s is about user namespaces too", (line) => {
  expect(explain(line).message).toContain("user namespaces");
});

test("any other output is quoted, without a panic's own text", () => {
  const panic = "\nthread 'main' (1) panicked at linux-sandbox/src/x.rs:1:1:\nsomething new\nstack backtrace:\n";
  expect(explain(panic)).toEqual({ message: "Its sandbox does not start: something new", fix: null });
  expect(explain(withoutHelper).message).toContain("bwrap: execvp codex-linux-sandbox: No such file or directory");
});
