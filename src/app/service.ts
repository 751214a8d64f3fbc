import { once } from "node:events";
import { connect } from "node:net";
import { homedir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { createTemplates } from "../agents/index.ts";
import type { CliService } from "../cli/ports.ts";
import { systemClock } from "../core/clock.ts";
import { isErrno, PosternError } from "../core/errors.ts";
import { findExecutable } from "../platform/executables.ts";
import { makeStateFolder } from "../platform/private-folders.ts";
import {
  createLaunchdManager,
  createSystemdManager,
  keepVariables,
  runManager,
  type ServiceManager,
  type ServiceSpec,
} from "../service/index.ts";
import { type Config, loadConfig } from "./config.ts";
import { gatewaySocketPath } from "./environment.ts";
import { packageVersion } from "./version.ts";

/**
 * The gateway as a user service.
 * @param program the command's file, absolute
 */
export function createService(
  program: string,
  config: Config = loadConfig(),
  platform: string = process.platform,
): CliService {
  const env = Object.fromEntries(
    Object.entries(config.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const userHome = env["HOME"] || homedir();
  const environmentFile = join(config.home, "service.env");
  const path = [...new Set([dirname(process.execPath), ...(env["PATH"] ?? "").split(":")])].join(":");
  const spec: ServiceSpec = {
    version: packageVersion,
    ...{ node: process.execPath, program, userHome, environmentFile },
    environment: { PATH: path, POSTERN_HOME: config.home },
  };
  const isMac = platform === "darwin";
  if (!isMac && platform !== "linux") {
    throw new PosternError(
      "service_manager_missing",
      `Services are not supported on ${platform}. Run \`postern serve\` instead.`,
    );
  }
  const run = runManager(isMac ? "launchctl" : "systemctl", env);
  const manager = isMac
    ? createLaunchdManager(spec, { run, userId: userInfo().uid })
    : createSystemdManager(spec, {
        run,
        configHome: env["XDG_CONFIG_HOME"] || join(userHome, ".config"),
        userName: userInfo().username,
      });
  const keyVariables = new Set(createTemplates(config.agents).flatMap((template) => template.keyVariables));
  const socketPath = gatewaySocketPath(config);
  return {
    ...manager,
    version: packageVersion,
    environmentFile,
    async install(options) {
      if ((await isAnswered(socketPath)) && !(await manager.status()).running) {
        throw new PosternError(
          "gateway_running",
          "A gateway is already running outside the service. Stop it (Ctrl-C in its terminal; agents keep running), then run `postern service install` again.",
        );
      }
      const installed = await manager.install(options);
      await untilAnswered(socketPath, manager);
      return installed;
    },
    async keepKeys() {
      await makeStateFolder(config.home);
      const keys = [...keyVariables].flatMap((name) => (env[name] ? [[name, env[name]] as const] : []));
      await keepVariables(environmentFile, Object.fromEntries(keys));
      return keys.map(([name]) => name);
    },
    async requireManager() {
      const name = isMac ? "launchctl" : "systemctl";
      if ((await findExecutable(name, env["PATH"] ?? "")) !== null) return;
      throw new PosternError(
        "service_manager_missing",
        `\`${name}\` is not on PATH, so no service can be installed. Start \`postern serve\` with another process manager.`,
      );
    },
  };
}

/** A gateway starts in about a second; a busy machine with a large store takes longer. */
const startTimeoutMs = 30_000;
/** If the service manager has not started the gateway by then, the manager has given up, or waits after a crash. */
const launchTimeoutMs = 3_000;

/** @throws PosternError `service_failed` if the gateway does not answer in time, or has stopped */
async function untilAnswered(socketPath: string, manager: ServiceManager): Promise<void> {
  const startedAt = systemClock.now();
  while (!(await isAnswered(socketPath))) {
    const { running } = await manager.status();
    if (systemClock.now() - startedAt > (running ? startTimeoutMs : launchTimeoutMs)) {
      const found = running ? "its gateway does not respond" : "its gateway stops during startup";
      throw new PosternError(
        "service_failed",
        `The service is installed, but ${found}. To see why: ${manager.showLog}`,
      );
    }
    await systemClock.sleep(100);
  }
}

async function isAnswered(socketPath: string): Promise<boolean> {
  const socket = connect(socketPath);
  try {
    await once(socket, "connect");
    return true;
  } catch (error) {
    if (isErrno(error, "ECONNREFUSED", "ENOENT")) return false; // not started, or its process has exited
    throw error;
  } finally {
    socket.destroy();
  }
}
