import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { enableCompileCache, flushCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config, ConfigOverrides } from "./app/config.ts";
import type { CliPorts } from "./cli/ports.ts";

// A third of a start is compiling. What is imported below is compiled once for each version of it; a folder that cannot be
// written only costs the time.
enableCompileCache(join(homedir(), ".cache", "postern"));
const { runCli } = await import("./cli/program.ts");
const { openUserTerminal } = await import("./cli/attach/user-terminal.ts");
const { systemClock } = await import("./core/clock.ts");
const { isErrno, messageOf } = await import("./core/errors.ts");
const { packageVersion } = await import("./app/version.ts");

// Of a restore that was cut off the rest is done before anything is read.
async function settleState(): Promise<void> {
  const { stateFolder } = await import("./app/config.ts");
  const { home } = stateFolder();
  if (!namesIn(home).some((name) => name.startsWith("restor"))) return;
  const { finishRestore } = await import("./backup/index.ts");
  await finishRestore(home);
}

/** Of a folder that cannot be read, who makes it says why. */
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
    import("./app/exposure.ts"),
  ]);
  const config = loadConfig(undefined, overrides);
  refuseReadableNetwork(config);
  return config;
}

// Each part of the house is loaded by the command that needs it: `--help` is not kept waiting by a web server.
const ports: CliPorts = {
  async checkSettings(overrides) {
    const { browserAddress } = await import("./app/config.ts");
    return { baseUrl: browserAddress(await servedConfig(overrides)) };
  },

  async startGateway(overrides) {
    await settleState();
    const config = await servedConfig(overrides);
    const [{ createLog }, { beginStart, endTerminalHost }] = await Promise.all([
      import("./app/log.ts"),
      import("./app/begin-start.ts"),
    ]);
    const log = createLog(config.logLevel);
    const begun = await beginStart(config, log);
    const { createApp } = await import("./app/app.ts");
    const app = await createApp(config, log, { begun });
    flushCompileCache(); // a gateway may be killed before its end, when this would happen by itself
    const { accounts, addresses, baseUrl } = app;
    return {
      addresses,
      baseUrl,
      authRequired: config.auth === "on",
      async createSignInLink() {
        const { accountId, name } = await accounts.owner();
        const made = await accounts.signIn.createUrl(accountId, baseUrl);
        const from = { address: null, userAgent: null };
        const details = { name };
        await accounts.audit.note({ action: "sign_in_link_created", accountId, subject: accountId, details, from });
        return made;
      },
      close: () => app.stop(), // the state folder is this process's until its end: who is next must find no host that leaves
      async endTerminals() {
        if (!(await endTerminalHost(config))) log.warn({}, "the terminal host has not ended; it is left as it is");
      },
    };
  },

  async backUp(options) {
    await settleState();
    const { backUp } = await import("./app/backup-commands.ts");
    return backUp(options);
  },

  async restore(options) {
    const { restore } = await import("./app/backup-commands.ts");
    return restore(options);
  },

  async openStores() {
    await settleState();
    const { openCommandStores } = await import("./app/command-stores.ts");
    return openCommandStores();
  },

  async diagnose(options) {
    const [{ diagnose }, { loadConfig }] = await Promise.all([import("./app/diagnose.ts"), import("./app/config.ts")]);
    return diagnose(loadConfig(), options);
  },

  async service() {
    const { createService } = await import("./app/service.ts");
    return createService(fileURLToPath(new URL("../bin/postern.js", import.meta.url)));
  },

  runProgram,

  async token() {
    const { loadConfig } = await import("./app/config.ts");
    return loadConfig().token;
  },

  async socketPath() {
    const { gatewaySocketPath, loadConfig } = await import("./app/config.ts");
    const { requireOwnRunFolder } = await import("./platform/private-folders.ts");
    const config = loadConfig();
    // Another user's socket in a folder that anybody may write to is no gateway of ours.
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
    process.on("SIGINT", ignore); // the terminal sends it to both
    const end = (code: number | null): void => {
      process.off("SIGINT", ignore);
      resolve(code);
    };
    const child = spawn(program, args, { env, stdio: ["inherit", 2, 2] });
    child.once("error", () => end(null)).once("exit", end);
  });
}

process.stdout.on("error", (error) => {
  // Whoever read this (`| head`) has seen enough.
  if (isErrno(error, "EPIPE")) process.exit(0);
  process.stderr.write(`postern: internal_error: ${messageOf(error)}\n`);
  process.exit(1);
});

// Whoever does not hear what went wrong still reads the exit code.
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
// A pipe takes 64 KiB; what it has not taken yet would go with the process.
await Promise.all(
  [process.stdout, process.stderr].map((stream) => new Promise<void>((taken) => stream.write("", () => taken()))),
);
process.exit(exitCode);
