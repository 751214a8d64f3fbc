import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { z } from "zod";
import { readSmallFileSync } from "../../platform/regular-file.ts";
import { agentError } from "../errors.ts";
import type { Environment, LoginState } from "../template.ts";

/** The key variables of the most common vendors. */
export const openCodeKeyVariables = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "GEMINI_API_KEY",
  "GOOGLE_GENERATIVE_AI_API_KEY",
  "OPENROUTER_API_KEY",
  "OPENCODE_API_KEY",
];

/** The folder of OpenCode's database and logins. */
export function openCodeData(env: Environment): string {
  return join(env["XDG_DATA_HOME"] || join(env["HOME"] || homedir(), ".local", "share"), "opencode");
}

/** The database with all sessions. */
export function openCodeDatabase(env: Environment): string {
  const named = env["OPENCODE_DB"];
  if (!named) return join(openCodeData(env), "opencode.db");
  return isAbsolute(named) ? named : join(openCodeData(env), named);
}

/** Whether OpenCode has a login or a key. Without either it may still have free models. */
export function openCodeLogin(env: Environment): LoginState {
  if (hasLogin(env)) return "logged_in";
  return openCodeKeyVariables.some((name) => Boolean(env[name])) ? "key_variable" : "unknown";
}

/** The file has a token or two for each vendor. */
const maxLoginsBytes = 1024 * 1024;

function hasLogin(env: Environment): boolean {
  const bytes = readSmallFileSync(join(openCodeData(env), "auth.json"), maxLoginsBytes);
  if (!Buffer.isBuffer(bytes)) return false;
  try {
    const logins = objectSchema.safeParse(JSON.parse(bytes.toString("utf8"))).data;
    return Object.keys(logins ?? {}).length > 0;
  } catch {
    return false; // not JSON
  }
}

const objectSchema = z.record(z.string(), z.unknown());
const listSchema = z.array(z.unknown()).catch([]);

/**
 * The variables that configure one launch, merged with the values of these variables in the environment.
 * @throws PosternError `agent_start_failed` if the values in the environment are not JSON
 */
export function launchConfig(
  env: Environment,
  {
    plugin,
    instructions,
    rules,
  }: { readonly plugin: string; readonly instructions: readonly string[]; readonly rules: object | null },
): Environment {
  const own = objectIn(env, "OPENCODE_CONFIG_CONTENT");
  const config = {
    ...own,
    // A gateway that runs inside such a session already has it.
    plugin: [...listSchema.parse(own["plugin"]).filter((other) => other !== plugin), plugin],
    ...(instructions.length === 0 ? {} : { instructions: [...listSchema.parse(own["instructions"]), ...instructions] }),
  };
  return {
    OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
    // Replaces the variable of the environment, and overrides the configured rules.
    ...(rules === null ? {} : { OPENCODE_PERMISSION: JSON.stringify(rules) }),
  };
}

function objectIn(env: Environment, name: string): Readonly<Record<string, unknown>> {
  const text = env[name];
  if (!text) return {};
  try {
    return objectSchema.parse(JSON.parse(text));
  } catch (error) {
    throw agentError(
      "agent_start_failed",
      `Cannot start opencode: the environment variable ${name} is not a JSON object. Fix it or unset it.`,
      { cause: error },
    );
  }
}
