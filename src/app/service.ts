import { homedir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { createTemplates } from "../agents/index.ts";
import type { CliService } from "../cli/ports.ts";
import { PosternError } from "../core/errors.ts";
import { findExecutable } from "../platform/executables.ts";
import { makeStateFolder } from "../platform/private-folders.ts";
import {
  createLaunchdManager,
  createSystemdManager,
  keepVariables,
  runManager,
  type ServiceSpec,
} from "../service/index.ts";
import { type Config, loadConfig } from "./config.ts";
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
  const keyVariables = createTemplates(config.agents).flatMap((template) => template.keyVariables);
  return {
    ...manager,
    version: packageVersion,
    environmentFile,
    async keepKeys() {
      await makeStateFolder(config.home);
      const keys = keyVariables.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []));
      await keepVariables(environmentFile, Object.fromEntries(keys));
      return keys.map(([name]) => name);
    },
    async requireManager() {
      const name = isMac ? "launchctl" : "systemctl";
      if ((await findExecutable(name, env["PATH"] ?? "")) !== null) return;
      throw new PosternError(
        "service_manager_missing",
        `\`${name}\` is not on PATH, so no service can be installed. Start \`postern serve\` with this machine's own process manager.`,
      );
    },
  };
}
