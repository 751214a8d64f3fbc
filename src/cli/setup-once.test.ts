import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { posternEnvironment, runPostern } from "../../test/support/postern-process.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";

// Each test starts Node processes, on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 90_000 });

/** A server whose programs answer as the agents do, without a login. */
async function makeServer(variables: Readonly<Record<string, string>>) {
  const root = await makeTempFolder();
  const bin = join(root, "bin");
  const code = join(root, "code");
  for (const folder of [bin, code]) await mkdir(folder);
  const answers = {
    claude: `[ "$1" = --version ] && echo 2.1.300 || echo '{"loggedIn":false}'`,
    codex: `[ "$1" = --version ] && echo codex-cli 0.160.0`,
  };
  for (const [name, script] of Object.entries(answers)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, name), 0o755);
  }
  const env = posternEnvironment(join(root, "home"), { PATH: `${bin}:/usr/bin:/bin`, HOME: root, ...variables });
  return {
    code,
    setUp: (...more: readonly string[]) => runPostern(["coding", "setup", ...more], { env, cwd: root }),
    postern: (...argv: readonly string[]) => runPostern(argv, { env, cwd: root }),
  };
}

test("sets up the agents, a folder and a link once, and nothing later, even after the folder was removed", async () => {
  const { code, setUp, postern } = await makeServer({ OPENAI_API_KEY: "sk-openai" });
  const first = await setUp("--yes", "--once", "--folder", "code", "--link");
  expect(first.code, first.stderr).toBe(0);
  expect(first.stdout).toMatch(/^claude-code +configured +logged_out /m);
  // The only agent with credentials.
  expect(first.stdout).toMatch(/^codex +default +key_variable /m);
  expect(first.stdout).toContain(`Registered ${code} for files, coding.\n`);
  expect(first.stdout).toMatch(
    /^Sign in \(single use, expires in 10 minutes\): http:\/\/localhost:7177\/sign-in#[\w-]{43}$/m,
  );
  expect(first.stderr).toContain(
    "claude-code is not logged in. Run `postern coding setup --agent claude-code --login`",
  );
  expect(first.stderr).not.toContain("codex is not logged in");

  await postern("folder", "remove", code);
  const second = await setUp("--yes", "--once", "--folder", "code", "--link");
  expect([second.code, second.stderr]).toEqual([0, expect.stringContaining("Already set up. Nothing changed.\n")]);
  expect(second.stdout).not.toMatch(/Registered|sign-in/);
  expect((await postern("folder", "list", "--json")).stdout).toContain('"folders": []');
});

test("a missing folder leaves nothing incomplete, and a registered one keeps its scopes, also through a symbolic link", async () => {
  const { code, setUp, postern } = await makeServer({});
  const wrong = await setUp("--yes", "--once", "--folder", "elsewhere", "--link", "--json");
  expect([wrong.code, wrong.stdout]).toEqual([1, ""]);
  await postern("folder", "add", code, "--scopes", "files,coding,exec");
  await symlink(code, `${code}-link`);
  const right = await setUp("--yes", "--once", "--folder", "code-link", "--link", "--json");
  expect(JSON.parse(right.stdout)).toMatchObject({
    default: null,
    agents: [{ name: "claude-code" }, { name: "codex" }],
    folder: { path: code, scopes: ["files", "coding", "exec"] },
    signIn: { url: expect.stringContaining("/sign-in#") },
  });
});
