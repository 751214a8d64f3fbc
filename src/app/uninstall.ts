import { lstat, readdir, readFile, realpath, rm, rmdir, unlink } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { createTemplates } from "../agents/index.ts";
import type { InstalledPart } from "../cli/ports.ts";
import { hasCode, isErrno, isPosternError, PosternError } from "../core/errors.ts";
import { runCommand } from "../platform/run-command.ts";
import type { ServiceManager } from "../service/index.ts";
import { acquireProcessLock, type ProcessLock } from "../storage/process-lock.ts";
import { endTerminalHost } from "./begin-start.ts";
import type { Config } from "./config.ts";
import { findGateway, lookAtMachine, stopGateway } from "./gateway-process.ts";

type Service = Pick<ServiceManager, "path" | "text" | "status" | "stop" | "uninstall">;

/** Long enough for npm to remove one package. */
const npmTimeoutMs = 60_000;

/** The files that Postern creates in the state folder. Other files there are not deleted. */
const stateNames =
  /^(config\.json|key|gateway-id|gateway\.lock.*|(postern|catalog)\.db.*|run|service\.env|sessions|attachments|looks|scripts|turns|terminal-host|restore\.json.*|restoring-[0-9a-f]+)$/;

/** The files that Postern creates in the state folder's `backups`, where people can also keep their own. */
const copyNames = /^(postern\.db\.before-.*|making-\d+-[0-9a-f]+)$/;

/** A folder without any of these was never a state folder; `POSTERN_HOME` is probably wrong. */
const stateMarks = ["gateway.lock", "gateway-id", "postern.db", "key"] as const;

/**
 * Everything that Postern has on this machine, in the order of removal: running parts first, the command itself last.
 * @param options `program`: the command's own file
 */
export async function findInstalledParts(
  config: Config,
  { service, program }: { readonly service: Service | null; readonly program: string },
): Promise<readonly InstalledPart[]> {
  // If `POSTERN_HOME` differs, the service and its command belong to the gateway of that folder.
  const isOwn = service === null || (await servesThisState(service));
  const parts = await Promise.all([
    gatewayPart(config, service),
    isOwn ? servicePart(service) : null,
    agentFilesPart(config),
    cachePart(join(config.env["HOME"] || homedir(), ".cache", "postern")),
    statePart(config),
    isOwn ? commandPart(program, config) : null,
  ]);
  return parts.filter((part) => part !== null);
}

async function gatewayPart(config: Config, service: Service | null): Promise<InstalledPart | null> {
  const gateway = await findGateway(config);
  if (gateway === null) return null;
  return {
    name: "gateway",
    what: `the running gateway (pid ${gateway.pid}; agents keep running)`,
    async remove() {
      await stopGateway(config, { service });
      return null;
    },
  };
}

/** Whether an installed service reads the variables of this state folder. Its Node and program can be of another version. */
async function servesThisState({ path, text }: Service): Promise<boolean> {
  const installed = await readFile(path, "utf8").catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  });
  const [variables] = /--env-file-if-exists=.*?service\.env/.exec(text) ?? [];
  return installed === null || variables === undefined || installed.includes(variables);
}

async function servicePart(service: Service | null): Promise<InstalledPart | null> {
  if (service === null || !(await exists(service.path))) return null;
  return {
    name: "service",
    what: `the service (${service.path})`,
    async remove() {
      try {
        await service.uninstall();
      } catch (error) {
        // Without its manager the service cannot run, so only its file is removed.
        if (!isPosternError(error) || error.code !== "service_manager_missing") throw error;
        await rm(service.path, { force: true });
      }
      return null;
    },
  };
}

async function agentFilesPart(config: Config): Promise<InstalledPart | null> {
  const env = definedIn(config.env);
  const templates = createTemplates(config.agents);
  const files = (await Promise.all(templates.map(async (template) => (await template.ownFiles?.(env)) ?? []))).flat();
  if (files.length === 0) return null;
  return {
    name: "agent files",
    what: `Postern's files in the agents' folders (${files.join(", ")})`,
    async remove() {
      await Promise.all(files.map((file) => rm(file, { force: true })));
      return null;
    },
  };
}

async function cachePart(folder: string): Promise<InstalledPart | null> {
  if (!(await exists(folder))) return null;
  return {
    name: "cache",
    what: `compiled code (${folder})`,
    async remove() {
      await rm(folder, { recursive: true, force: true });
      return null;
    },
  };
}

async function statePart(config: Config): Promise<InstalledPart | null> {
  const { home, databaseUrl } = config;
  if (!(await Promise.all(stateMarks.map((name) => exists(join(home, name))))).includes(true)) return null;
  const { terminalHost } = await lookAtMachine(config);
  const live = terminalHost !== null && "liveTerminals" in terminalHost ? terminalHost.liveTerminals : 0;
  const agents = live === 0 ? "" : live === 1 ? " and its running agent" : ` and its ${live} running agents`;
  const database = databaseUrl === null ? "" : "; the PostgreSQL database stays";
  return {
    name: "state",
    what: `the state folder (${home}: accounts, tokens, memory, recordings and settings${database})${agents}`,
    async remove() {
      const lock = lockState(home);
      try {
        return await removeState(config);
      } finally {
        lock.close();
      }
    },
  };
}

/** Prevents a gateway from starting. @throws PosternError `gateway_running`, for example if stopping it was declined */
function lockState(home: string): ProcessLock {
  try {
    return acquireProcessLock(join(home, "gateway.lock"));
  } catch (error) {
    if (!hasCode(error, "gateway_running")) throw error;
    throw new PosternError(
      "gateway_running",
      `A gateway is running with the state folder ${home}, so nothing in it was deleted. Stop it with \`postern stop\`, then run \`postern uninstall\` again.`,
      { cause: error },
    );
  }
}

/** @returns what is left, as a sentence; null if the folder is gone */
async function removeState(config: Config): Promise<string | null> {
  const { home, runDir } = config;
  if (!(await endTerminalHost(config))) {
    throw new PosternError("internal_error", "The terminal host did not exit within 10 s. Run `postern stop --all`.");
  }
  await removeNamed(home, stateNames);
  await rm(runDir, { recursive: true, force: true });
  await removeNamed(join(home, "backups"), copyNames);
  await removeIfEmpty(join(home, "backups"));
  // A worktree that is being closed can have work in it.
  await removeIfEmpty(join(home, "worktrees"));
  // The folder itself can be a link.
  if (!(await removeIfEmpty(await realpath(home)))) {
    return `${home} has other files: ${(await readdir(home)).join(", ")}.`;
  }
  await rm(home, { force: true });
  return null;
}

async function removeNamed(folder: string, names: RegExp): Promise<void> {
  const present = await readdir(folder).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  });
  const own = present.filter((name) => names.test(name));
  await Promise.all(own.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}

/** The command on PATH that runs this program. A checkout without a link has none. */
async function commandPart(program: string, { env }: Config): Promise<InstalledPart | null> {
  const own = await realpath(program);
  for (const folder of (env["PATH"] ?? "").split(delimiter).filter((path) => isAbsolute(path))) {
    const path = join(folder, "postern");
    if ((await realpath(path).catch(() => null)) !== own || !(await lstat(path)).isSymbolicLink()) continue;
    const prefix = dirname(folder);
    const isPackage = await exists(join(prefix, "lib", "node_modules", "postern"));
    return {
      name: "command",
      what: `the command (${path})`,
      remove: async () => (isPackage ? removePackage(prefix, env) : unlink(path).then(() => null)),
    };
  }
  return null;
}

/** An installed package, or npm's link to a checkout. */
async function removePackage(prefix: string, env: Config["env"]): Promise<null> {
  const argv = ["npm", "rm", "--global", "--prefix", prefix, "postern"] as const;
  const { exitCode, stderr } = await runCommand(argv, { env: definedIn(env), timeoutMs: npmTimeoutMs });
  if (exitCode === 0) return null;
  const reason = stderr.trim().split("\n")[0] || `exit code ${exitCode ?? "unknown"}`;
  throw new PosternError("internal_error", `\`${argv.join(" ")}\` failed: ${reason}. Run it yourself.`);
}

function definedIn(env: Config["env"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false, // missing or inaccessible: there is nothing to remove
  );
}

async function removeIfEmpty(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return true;
    if (isErrno(error, "ENOTEMPTY", "EEXIST", "EBUSY", "ENOTDIR")) return false;
    throw error;
  }
}
