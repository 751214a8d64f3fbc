import { z } from "zod";
import { runCommand } from "../../platform/run-command.ts";
import type { Environment, LoginState } from "../template.ts";
import { isKeyRejected } from "./claude-key.ts";
import { quiet, unlessSet } from "./claude-surroundings.ts";

const statusTimeoutMs = 10_000;

/** What stands in for a log-in. */
export const claudeKeyVariables = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

const authStatusSchema = z.looseObject({ loggedIn: z.boolean(), authMethod: z.string().optional() });

/** `claude auth status` (0.4 s); null when this Claude Code does not tell. */
export async function authStatus(binary: string, env: Environment): Promise<z.infer<typeof authStatusSchema> | null> {
  const { stdout } = await runCommand([binary, "auth", "status"], {
    env: { ...env, ...unlessSet(quiet, env) },
    timeoutMs: statusTimeoutMs,
  });
  try {
    return authStatusSchema.safeParse(JSON.parse(stdout)).data ?? null;
  } catch {
    return null; // an older version, or it could not run: unknown
  }
}

/** A log-in goes before a key: both may be there. */
export async function loginState(binary: string, env: Environment): Promise<LoginState> {
  const isRejected = await isKeyRejected(env);
  const hasKey = claudeKeyVariables.some((name) => Boolean(env[name]) && !(name === "ANTHROPIC_API_KEY" && isRejected));
  const keyless = Object.fromEntries(Object.entries(env).filter(([name]) => !claudeKeyVariables.includes(name)));
  const status = await authStatus(binary, keyless);
  if (status?.loggedIn === true) return "logged_in";
  if (hasKey) return "key_variable";
  return status === null ? "unknown" : "logged_out";
}
