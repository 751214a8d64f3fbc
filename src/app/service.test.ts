import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { chmod, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { type CliRun, runCommand } from "../../test/support/run-cli.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import type { Me } from "../wire/sign-in.ts";
import { loadConfig } from "./config.ts";
import { createService } from "./service.ts";
import { packageVersion } from "./version.ts";

const program = "/opt/po$tern %1/bin/postern.js";
const key = "sk-$planted-0000000000000000";

/** A user's machine with a recorded service manager, which supports the calls that Postern makes, and starts a gateway that only listens. */
async function makeMachine(platform: "linux" | "darwin"): Promise<{
  readonly root: string;
  readonly env: Record<string, string>;
  run(...argv: readonly string[]): Promise<CliRun>;
  calls(): Promise<readonly string[]>;
}> {
  const root = await makeTempFolder();
  const [bin, home] = [join(root, "bin"), join(root, "state folder")];
  await mkdir(bin);
  const name = platform === "linux" ? "systemctl" : "launchctl";
  await writeFile(join(bin, name), platform === "linux" ? fakeSystemctl : fakeLaunchctl);
  await chmod(join(bin, name), 0o755);
  const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: root, POSTERN_HOME: home, FAKE: root, ANTHROPIC_API_KEY: key };
  const gateway = createServer();
  const starting = setInterval(() => {
    if (gateway.listening || !existsSync(join(root, "running"))) return;
    mkdirSync(join(home, "run"), { recursive: true });
    gateway.listen(join(home, "run", "gateway.sock"));
  }, 10);
  onTestFinished(() => {
    clearInterval(starting);
    gateway.close();
  });
  return {
    root,
    env,
    run: (...argv) =>
      runCommand(["service", ...argv], {
        ports: {
          service: async () => createService(program, loadConfig(env), platform),
          socketPath: async () => join(root, "gateway.sock"),
        },
      }),
    async calls() {
      const text = await readFile(join(root, "calls"), "utf8").catch(() => "");
      await rm(join(root, "calls"), { force: true });
      // Reading the state changes nothing, so it can happen any number of times.
      return text
        .replaceAll(/^--user show .*UnitFileState.*\n/gm, "")
        .trimEnd()
        .split("\n");
    },
  };
}

const fakeSystemctl = `#!/bin/sh
echo "$*" >>"$FAKE/calls"
[ -e "$FAKE/no-session" ] && { echo "Failed to connect to bus: No medium found" >&2; exit 1; }
[ "$2" = "$(cat "$FAKE/fails" 2>/dev/null)" ] && { echo "Job failed." >&2; exit 1; }
case "$2" in
  enable) touch "$FAKE/enabled" ;;
  start|restart) [ -e "$FAKE/crashes" ] || touch "$FAKE/running" ;;
  stop) rm -f "$FAKE/running" ;;
  disable) rm -f "$FAKE/enabled" "$FAKE/running" ;;
  show)
    [ -e "$HOME/.config/systemd/user/postern.service" ] && echo LoadState=loaded || echo LoadState=not-found
    [ -e "$FAKE/enabled" ] && echo UnitFileState=enabled || echo UnitFileState=
    [ -e "$FAKE/running" ] && printf 'ActiveState=active\\nMainPID=4711\\n' || printf 'ActiveState=inactive\\nMainPID=0\\n' ;;
esac
`;

const fakeLaunchctl = `#!/bin/sh
echo "$*" >>"$FAKE/calls"
case "$1 $2" in
  bootstrap*) touch "$FAKE/running" ;;
  bootout*) rm -f "$FAKE/running" ;;
  print*/*/*) [ -e "$FAKE/running" ] || { echo "Could not find service" >&2; exit 113; }; printf '\\tstate = running\\n\\tpid = 4711\\n' ;;
  print*) [ -e "$FAKE/no-session" ] && { echo "Could not find domain" >&2; exit 112; }; exit 0 ;;
esac
`;

const unitOf = (root: string): string => join(root, ".config/systemd/user/postern.service");

test("systemd gets a unit and reloads, and installing again changes nothing", async () => {
  const { root, run, calls } = await makeMachine("linux");
  expect(await run("status")).toMatchObject({
    code: 1,
    stdout: "No service is installed. To install it: postern service install\n",
  });
  await calls();
  const first = await run("install");
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(first.stdout).toContain("loginctl enable-linger");
  expect(first.stdout).toContain("journalctl --user");
  const show = "--user show postern.service --property=LoadState";
  expect(await calls()).toEqual([
    show,
    "--user daemon-reload",
    "--user enable postern.service",
    "--user restart postern.service",
  ]);
  const unit = await readFile(unitOf(root), "utf8");
  expect(unit).toContain("\nKillMode=process\n");
  expect(unit).toContain(
    `ExecStart="${process.execPath}" "--env-file-if-exists=${root}/state folder/service.env" "/opt/po$$tern %%1/bin/postern.js" "serve"`,
  );
  expect(unit).toContain(`Environment="POSTERN_HOME=${root}/state folder"`);
  expect(unit).not.toContain(key);

  expect((await run("install")).stdout).toContain("is up to date");
  expect(await calls()).toEqual([show, "--user enable postern.service", "--user start postern.service"]);
  expect(JSON.parse((await run("status", "--json")).stdout)).toEqual({
    ...{ manager: "systemd", path: unitOf(root), installed: true, enabled: true, running: true },
    ...{ pid: 4711, version: null, installedVersion: packageVersion },
  });
  expect(await run("status")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("runs (pid 4711), enabled"),
  });
});

test("the manager stops the service, which stays installed", async () => {
  const { env, run, calls } = await makeMachine("linux");
  await run("install");
  await calls();
  const service = createService(program, loadConfig(env), "linux");
  expect(await service.stop()).toBe("systemctl --user stop postern.service");
  expect(await calls()).toEqual(["--user stop postern.service"]);
  expect(await service.status()).toMatchObject({ installed: true, enabled: true, running: false });
  const mac = await makeMachine("darwin");
  await mac.run("install");
  await mac.calls();
  const command = await createService(program, loadConfig(mac.env), "darwin").stop();
  expect(await mac.calls()).toEqual([command.replace("launchctl ", "")]);
});

test("a unit of an older version is rewritten, and the gateway restarted", async () => {
  const { root, run, calls } = await makeMachine("linux");
  await run("install");
  await writeFile(
    unitOf(root),
    (await readFile(unitOf(root), "utf8")).replace(/X-Postern-Version=.*/, "X-Postern-Version=0.0.1"),
  );
  await calls();
  expect(await run("install")).toMatchObject({ code: 0 });
  expect((await calls()).slice(1)).toEqual([
    "--user daemon-reload",
    "--user enable postern.service",
    "--user restart postern.service",
  ]);
});

/** A gateway of this version, with the routes that the command calls. */
async function answerAs(version: string, root: string): Promise<void> {
  const me: Me = {
    account: { accountId: "1", name: "owner", isOwner: true },
    ...{ kind: "socket", scopes: [], folders: null, browserSessionId: null, app: null, expiresAt: null },
    gateway: { id: "one", version, baseUrl: "http://localhost:7177" },
  };
  const server = createServer((_request, response) => response.end(JSON.stringify(me)));
  onTestFinished(() => void server.close());
  server.listen(join(root, "gateway.sock"));
  await once(server, "listening");
}

test.for([
  ["linux", "--user restart postern.service"],
  ["darwin", `kickstart -k gui/${process.getuid?.()}/dev.postern.gateway`],
] as const)("on %s a gateway of an older version is reported and restarted", async ([platform, restarts]) => {
  const { root, run, calls } = await makeMachine(platform);
  await run("install");
  await answerAs("0.0.9", root);
  const { stdout } = await run("status");
  expect(stdout).toContain("runs (pid 4711, version 0.0.9)");
  expect(stdout).toMatch(
    /^Version .+ is installed, but 0\.0\.9 is running\. To switch: postern service install \(agents keep running\)\.$/m,
  );
  await calls();
  expect((await run("install")).stdout).toContain(`Replaced version 0.0.9 with ${packageVersion}`);
  expect((await calls()).at(-1)).toBe(restarts);
});

test("a gateway of this version is not restarted", async () => {
  const { root, run, calls } = await makeMachine("linux");
  await run("install");
  await answerAs(packageVersion, root);
  expect((await run("status")).stdout).not.toContain("is installed, and");
  await calls();
  await run("install");
  expect((await calls()).at(-1)).toBe("--user start postern.service");
});

test("a gateway that stops at its start is reported, with the command that shows its log", async () => {
  const { root, run } = await makeMachine("linux");
  await writeFile(join(root, "crashes"), "");
  expect(await run("install")).toMatchObject({
    code: 1,
    stdout: "",
    stderr:
      "postern: service_failed: The service is installed, but its gateway stops during startup. To see why: journalctl --user --unit=postern.service\n",
  });
});

test("next to a gateway that was started in a terminal, nothing is installed", async () => {
  const { root, run } = await makeMachine("linux");
  await run("install");
  await rm(join(root, "running"));
  await rm(unitOf(root));
  expect(await run("install")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("gateway_running: A gateway is already"),
  });
  expect(existsSync(unitOf(root))).toBe(false);
});

test("uninstalling stops it and removes the file, once", async () => {
  const { root, run, calls } = await makeMachine("linux");
  await run("install");
  await calls();
  expect((await run("uninstall")).stdout).toBe(`Removed ${unitOf(root)}. Agents keep running.\n`);
  expect((await calls()).slice(1)).toEqual(["--user disable --now postern.service", "--user daemon-reload"]);
  expect(existsSync(unitOf(root))).toBe(false);
  expect(await run("uninstall")).toMatchObject({ code: 0, stdout: "No service was installed.\n" });
});

test("without a systemd user session, or without systemd, nothing is written and the error has the next step", async () => {
  const { root, env, run } = await makeMachine("linux");
  await writeFile(join(root, "no-session"), "");
  for (const command of ["install", "uninstall", "status"]) {
    expect(await run(command)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^postern: service_manager_missing: .*No medium found.*enable-linger.*\n$/),
    });
  }
  env["PATH"] = join(root, "nothing");
  expect((await run("install", "--keys")).stderr).toMatch(
    /^postern: service_manager_missing: `systemctl` is not on PATH.*\n$/,
  );
  expect(existsSync(join(root, ".config"))).toBe(false);
  expect(existsSync(join(root, "state folder"))).toBe(false);
});

test("a refusal of systemd is reported", async () => {
  const { root, run } = await makeMachine("linux");
  await writeFile(join(root, "fails"), "restart");
  expect((await run("install")).stderr).toBe(
    "postern: service_failed: `restart postern.service` failed: Job failed.\n",
  );
});

test("keys go to a separate file, for the owner only, and keep its other variables", async () => {
  const { root, env, run } = await makeMachine("linux");
  expect((await run("install", "--keys")).stdout).toContain("ANTHROPIC_API_KEY");
  const file = join(root, "state folder", "service.env");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await writeFile(file, `${await readFile(file, "utf8")}OTHER="x"\n`);
  env["ANTHROPIC_API_KEY"] = "sk-new";
  await run("install", "--keys");
  const node = [`--env-file-if-exists=${file}`, "-p", "process.env.ANTHROPIC_API_KEY + process.env.OTHER"];
  const { stdout } = await promisify(execFile)(process.execPath, node, { env: {} });
  expect(stdout).toBe("sk-newx\n");
  env["ANTHROPIC_API_KEY"] = 'sk-"quoted';
  expect(await run("install", "--keys")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("ANTHROPIC_API_KEY"),
  });
});

test.each(["linux", "darwin"] as const)("--dry-run on %s prints the file and does nothing", async (platform) => {
  const { root, run, calls } = await makeMachine(platform);
  const { code, stdout } = await run("install", "--dry-run");
  expect(code).toBe(0);
  expect(stdout).toContain("--env-file-if-exists=");
  expect(await calls()).toEqual([""]);
  expect(existsSync(join(root, ".config"))).toBe(false);
  expect(existsSync(join(root, "Library"))).toBe(false);
});

test.skipIf(!existsSync("/usr/bin/systemd-analyze"))("systemd accepts the unit", async () => {
  const { root, run } = await makeMachine("linux");

  const { stdout } = await run("install", "--dry-run");
  const file = join(root, "postern.service");
  await writeFile(file, stdout);
  const verified = await promisify(execFile)("/usr/bin/systemd-analyze", ["--user", "verify", file], {
    env: { HOME: root, XDG_RUNTIME_DIR: root, PATH: "/usr/bin:/bin" },
  });
  expect(verified).toEqual({ stdout: "", stderr: "" });
});

const python = ["/usr/bin/python3", "/usr/local/bin/python3"].find((path) => existsSync(path));

test.skipIf(python === undefined && !existsSync("/usr/bin/plutil"))(
  "launchd's file is a valid property list, whatever the paths contain",
  async () => {
    const { root, env, run } = await makeMachine("darwin");
    const home = join(root, `a & b <c> "d" é`);
    env["POSTERN_HOME"] = home;
    const file = join(root, "agent.plist");
    await writeFile(file, (await run("install", "--dry-run")).stdout);
    const script = "import json, plistlib, sys; print(json.dumps(plistlib.load(open(sys.argv[1], 'rb'))))";
    const [command, ...args] =
      python === undefined ? ["/usr/bin/plutil", "-convert", "json", "-o", "-", file] : [python, "-c", script, file];
    const { stdout } = await promisify(execFile)(command ?? "", args);
    const log = join(root, "Library/Logs/postern.log");
    expect(JSON.parse(stdout)).toEqual({
      Label: "dev.postern.gateway",
      ProgramArguments: [process.execPath, `--env-file-if-exists=${home}/service.env`, program, "serve"],
      EnvironmentVariables: { PATH: expect.stringContaining(join(root, "bin")), POSTERN_HOME: home },
      WorkingDirectory: root,
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
      AbandonProcessGroup: true,
      ...{ ThrottleInterval: 5, ExitTimeOut: 20, StandardOutPath: log, StandardErrorPath: log },
    });
  },
);

test("launchd gets an agent, which is reloaded when it changed", async () => {
  const { root, run, calls } = await makeMachine("darwin");
  const path = join(root, "Library/LaunchAgents/dev.postern.gateway.plist");
  const uid = process.getuid?.();
  const service = `gui/${uid}/dev.postern.gateway`;
  expect(await run("install")).toMatchObject({ code: 0, stdout: expect.stringContaining("Library/Logs/postern.log") });
  expect((await calls()).slice(0, 4)).toEqual([
    `print gui/${uid}`,
    `print ${service}`,
    `enable ${service}`,
    `bootstrap gui/${uid} ${path}`,
  ]);
  const text = await readFile(path, "utf8");
  expect(text).toMatch(/<key>AbandonProcessGroup<\/key>\s*<true\/>/);
  expect(text).toContain("<string>/opt/po$tern %1/bin/postern.js</string>");
  expect(text).not.toContain(key);
  await run("install");
  expect((await calls()).slice(-2)).toEqual([`enable ${service}`, `kickstart ${service}`]);
  await writeFile(path, text.replace("Postern", "Older"));
  await run("install");
  expect((await calls()).slice(-3)).toEqual([
    `bootout ${service}`,
    `enable ${service}`,
    `bootstrap gui/${uid} ${path}`,
  ]);
  expect(await run("status")).toMatchObject({ code: 0, stdout: expect.stringContaining("runs (pid 4711)") });
  expect(await run("uninstall")).toMatchObject({ code: 0, stdout: `Removed ${path}. Agents keep running.\n` });
  await writeFile(join(root, "no-session"), "");
  expect(await run("install")).toMatchObject({ code: 1, stderr: expect.stringContaining("service_manager_missing") });
  expect(existsSync(path)).toBe(false);
});
