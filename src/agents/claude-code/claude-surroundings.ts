import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { isErrno } from "../../core/errors.ts";
import type { Environment } from "../template.ts";

/** What keeps Claude Code from calling home and from updating itself under a running session. */
export const quiet: Environment = {
  DISABLE_TELEMETRY: "1",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_ERROR_REPORTING: "1",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
};

/** The variables that the environment leaves open. */
export function unlessSet(defaults: Environment, env: Environment): Environment {
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => env[name] === undefined));
}

/** Claude Code's state folder. */
export function configDir(env: Environment): string {
  return env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude");
}

/** Claude Code's own rule: an older `.config.json` in its folder goes before `.claude.json`. */
export async function configPath(env: Environment): Promise<string> {
  const older = join(configDir(env), ".config.json");
  try {
    const facts = await stat(older);
    if (facts.isFile() && facts.size > 0) return older;
  } catch (error) {
    if (!isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) throw error;
  }
  return join(env["CLAUDE_CONFIG_DIR"] || env["HOME"] || homedir(), ".claude.json");
}
