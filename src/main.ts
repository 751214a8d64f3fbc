import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { enableCompileCache, flushCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config, ConfigOverrides } from "./app/config.ts";
import type { CliPorts } from "./cli/ports.ts";

// Compiling takes a third of the startup time. Without a writable folder, startup is only slower.
enableCompileCache(join(homedir(), ".cache", "postern"));
if (process.argv[2] === "completion" && process.argv[3] === "sessions") {
  // Shell completion waits for this, so only the modules that it needs are loaded.
  const { printSessionIds } = await import("./cli/session-ids.ts");
  const { gatewaySocketPath, runFolder, stateFolder } = await import("./app/environment.ts");
  const runDir = runFolder(stateFolder().home);
  await printSessionIds(gatewaySocketPath({ runDir }), { withinMs: Number(process.argv[4]) });
  process.exit(0);
}
const { runCli } = await import("./cli/program.ts");
const { openUserTerminal } = await import("./cli/attach/user-terminal.ts");
const { systemClock } = await import("./core/clock.ts");
const { isErrno, messageOf } = await import("./core/errors.ts");
const { packageVersion } = await import("./app/version.ts");

const ownProgram = fileURLToPath(new URL("../bin/postern.js", import.meta.url));

// Finishes an interrupted restore before anything is read.
async function settleState(): Promise<void> {
  const { stateFolder } = await import("./app/environment.ts");
  const { home } = stateFolder();
  if (!namesIn(home).some((name) => name.startsWith("restor"))) return;
  const { finishRestore } = await import("./backup/index.ts");
  await finishRestore(home);
}

/** Problems of the folder are reported when it is created. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

async function servedConfig(overrides: ConfigOverrides): Promise<Config> {
  const [{ loadConfig }, { refuseReadableNetwork }] = await Promise.all([
    import("./app/config.ts"),
    import("./app/config.ts"),
  ]);
  const config = loadConfig(undefined, overrides);
  refuseReadableNetwork(config);
  return config;
}

// Each command loads only the modules it needs, so that `--help` is fast.
const ports: CliPorts = {
  async checkSettings(overrides) {
    const { browserAddress } = await import("./app/config.ts");
    return { baseUrl: browserAddress(await servedConfig(overrides)) };
  },

  async startGateway(overrides) {
    await settleState();
    const config = await servedConfig(overrides);
    const [{ exposureOf }, { createLog }, { beginStart, endTerminalHost }] = await Promise.all([
      import("./app/config.ts"),
      import("./app/log.ts"),
      import("./app/begin-start.ts"),
    ]);
    const log = createLog(config.logLevel);
    const begun = await beginStart(config, log);
    const { createApp } = await import("./app/app.ts");
    const app = await createApp(config, log, { begun });
    flushCompileCache(); // at once: the process may be killed
    const { accounts, addresses, baseUrl } = app;
    return {
      addresses,
      baseUrl,
      isReachableFromOutside: exposureOf({ hosts: [], baseUrl }).exposure !== "this_machine",
      authRequired: config.auth === "on",
      async createSignInLink() {
        const { accountId, name } = await accounts.owner();
        const made = await accounts.signIn.createUrl(accountId, baseUrl);
        const from = { address: null, userAgent: null };
        const details = { name };
        await accounts.audit.note({ action: "sign_in_link_created", accountId, subject: accountId, details, from });
        return made;
      },
      close: () => app.stop(), // keeps the lock on the state folder until the process exits
      async endTerminals() {
        if (!(await endTerminalHost(config))) log.warn({}, "the terminal host did not exit in time");
      },
    };
  },

  async backUp(options) {
    await settleState();
    const { backUp } = await import("./app/command-stores.ts");
    return backUp(options);
  },

  async restore(options) {
    const { restore } = await import("./app/command-stores.ts");
    return restore(options);
  },

  async openStores() {
    await settleState();
    const { openCommandStores } = await import("./app/command-stores.ts");
    return openCommandStores();
  },

  async diagnose(options) {
    const { diagnoseHere } = await import("./app/diagnose.ts");
    return diagnoseHere(options);
  },

  async service() {
    const { createService } = await import("./app/service.ts");
    return createService(ownProgram);
  },

  async machine() {
    const [{ loadConfig }, { lookAtMachine }] = await Promise.all([
      import("./app/config.ts"),
      import("./app/gateway-process.ts"),
    ]);
    return lookAtMachine(loadConfig());
  },

  async stopGateway() {
    const [{ loadConfig }, { stopGateway }] = await Promise.all([
      import("./app/config.ts"),
      import("./app/gateway-process.ts"),
    ]);
    const service = await ports.service().catch(() => null); // a system without services
    return stopGateway(loadConfig(), { service });
  },

  async endTerminals() {
    const [{ loadConfig }, { endTerminalHost }] = await Promise.all([
      import("./app/config.ts"),
      import("./app/begin-start.ts"),
    ]);
    return endTerminalHost(loadConfig());
  },

  async installedParts() {
    const [{ loadConfig }, { findInstalledParts }] = await Promise.all([
      import("./app/config.ts"),
      import("./app/uninstall.ts"),
    ]);
    const service = await ports.service().catch(() => null); // a system without services
    return findInstalledParts(loadConfig(), { service, program: ownProgram });
  },

  runProgram,

  async token() {
    const { loadConfig } = await import("./app/config.ts");
    return loadConfig().token;
  },

  async socketPath() {
    const { loadConfig } = await import("./app/config.ts");
    const { gatewaySocketPath } = await import("./app/environment.ts");
    const { requireOwnRunFolder } = await import("./platform/private-folders.ts");
    const config = loadConfig();
    // In a folder open to others, the socket may be another user's.
    await requireOwnRunFolder(config.runDir);
    return gatewaySocketPath(config);
  },
};

function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv,
): Promise<number | null> {
  return new Promise((resolve) => {
    const ignore = (): void => undefined;
    process.on("SIGINT", ignore); // the terminal sends it to both processes
    const end = (code: number | null): void => {
      process.off("SIGINT", ignore);
      resolve(code);
    };
    const child = spawn(program, args, { env, stdio: ["inherit", 2, 2] });
    child.once("error", () => end(null)).once("exit", end);
  });
}

process.stdout.on("error", (error) => {
  // The reader (`| head`) has closed the pipe.
  if (isErrno(error, "EPIPE")) process.exit(0);
  process.stderr.write(`postern: internal_error: ${messageOf(error)}\n`);
  process.exit(1);
});

// The exit code still reports the failure.
process.stderr.on("error", () => undefined);

const exitCode = await runCli(process.argv.slice(2), {
  ports,
  version: packageVersion,
  stdout: (text) => void process.stdout.write(text),
  async stdoutTaken() {
    if (process.stdout.writableNeedDrain) await once(process.stdout, "drain");
  },
  stderr: (text) => void process.stderr.write(text),
  stdin: process.stdin,
  columns: process.stdout.isTTY ? process.stdout.columns || null : null,
  interactive: process.stdin.isTTY && process.stdout.isTTY,
  terminal: () =>
    process.stdin.isTTY && process.stdout.isTTY ? openUserTerminal(process.stdin, process.stdout) : null,
  cwd: process.cwd(),
  clock: systemClock,
});
// Output beyond the 64 KiB of a pipe would be lost with the process.
await Promise.all(
  [process.stdout, process.stderr].map((stream) => new Promise<void>((taken) => stream.write("", () => taken()))),
);
process.exit(exitCode);
