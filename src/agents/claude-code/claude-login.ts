import { stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { runCommand } from "../../platform/run-command.ts";
import type { Environment, LaunchRequest, LoginState } from "../template.ts";
import {
  type ClaudeConfig,
  changeClaudeConfig,
  configDir,
  configPath,
  quiet,
  readClaudeConfig,
  unlessSet,
} from "./claude-config.ts";

const statusTimeoutMs = 10_000;

/** Variables that replace a login. */
export const claudeKeyVariables = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

const authStatusSchema = z.looseObject({ loggedIn: z.boolean(), authMethod: z.string().optional() });

/** `claude auth status` (0.4 s); null if unknown. */
async function authStatus(binary: string, env: Environment): Promise<z.infer<typeof authStatusSchema> | null> {
  const { stdout } = await runCommand([binary, "auth", "status"], {
    env: { ...env, ...unlessSet(quiet, env) },
    timeoutMs: statusTimeoutMs,
  });
  try {
    return authStatusSchema.safeParse(JSON.parse(stdout)).data ?? null;
  } catch {
    return null; // an older version, or it could not run
  }
}

/** A login takes precedence over a key. */
export async function loginState(binary: string, env: Environment): Promise<LoginState> {
  const isRejected = await isKeyRejected(env);
  const hasKey = claudeKeyVariables.some((name) => Boolean(env[name]) && !(name === "ANTHROPIC_API_KEY" && isRejected));
  const keyless = Object.fromEntries(Object.entries(env).filter(([name]) => !claudeKeyVariables.includes(name)));
  const status = await authStatus(binary, keyless);
  if (status?.loggedIn === true) return "logged_in";
  if (hasKey) return "key_variable";
  return status === null ? "unknown" : "logged_out";
}

const keyResponsesSchema = z.looseObject({
  approved: z.array(z.string()).default([]),
  rejected: z.array(z.string()).default([]),
});

/** Claude Code remembers a key by its last 20 characters. */
function keyTail(env: Environment): string {
  return (env["ANTHROPIC_API_KEY"] ?? "").slice(-20);
}

/** The user's answer to "use this API key?"; null if there is none. */
function keyAnswer(config: ClaudeConfig, tail: string): "approved" | "rejected" | null {
  const responses = keyResponses(config);
  return responses.rejected.includes(tail) ? "rejected" : responses.approved.includes(tail) ? "approved" : null;
}

/** The stored answers, with an approval of this key added. */
function approved(config: ClaudeConfig, tail: string): unknown {
  const responses = keyResponses(config);
  return { ...responses, approved: [...responses.approved.filter((other) => other !== tail), tail] };
}

/** Whether the person rejected the key that is set: then Claude Code does not use it. */
async function isKeyRejected(env: Environment): Promise<boolean> {
  const tail = keyTail(env);
  if (tail === "") return false;
  const config = await readClaudeConfig(await configPath(env)).catch(() => ({})); // unreadable: its start reports that
  return keyAnswer(config, tail) === "rejected";
}

function keyResponses(config: ClaudeConfig): z.infer<typeof keyResponsesSchema> {
  return keyResponsesSchema.safeParse(config["customApiKeyResponses"]).data ?? { approved: [], rejected: [] };
}

/** Answers the first-run dialogs: through variables, which are returned, and on disk only where there is no flag or variable. */
export async function answerFirstRunDialogs(request: LaunchRequest): Promise<Environment> {
  const path = await configPath(request.env);
  const variables: Record<string, string> = {};
  // Trusts the folder for this launch only, because its registration can be revoked. The repository's hooks then run, but this does
  // not let the repository's settings allow commands (measured).
  if (request.trustDir) variables["CLAUDE_CODE_SANDBOXED"] = "1";
  // As root, the agent refuses its most permissive mode without this variable; the caller requested that mode.
  if (request.permissionMode === "all" && process.getuid?.() === 0) variables["IS_SANDBOX"] = "1";
  const key = await keyDecision(path, request);
  if (key === "keep_login") variables["ANTHROPIC_API_KEY"] = "";
  await changeClaudeConfig(path, (config) => ({
    ...config,
    hasCompletedOnboarding: true,
    hasSeenAutoDefaultNotice: true,
    ...(key === "approve" ? { customApiKeyResponses: approved(config, keyTail(request.env)) } : {}),
  }));
  return variables;
}

/**
 * How to answer "use this API key?": not at all without a key or after an earlier answer; an existing login is kept; otherwise the key is
 * approved.
 */
async function keyDecision(path: string, request: LaunchRequest): Promise<"nothing" | "keep_login" | "approve"> {
  const tail = keyTail(request.env);
  if (tail === "") return "nothing";
  const config = await readClaudeConfig(path);
  if (keyAnswer(config, tail) !== null) return "nothing";
  return (await isLoggedIn(request, config["oauthAccount"])) ? "keep_login" : "approve";
}

const known = new Map<string, boolean>();
const maxKnown = 100;

/** Whether there is a login, ignoring the key. The check takes 0.4 s, so it is cached until the account or the credentials change. */
async function isLoggedIn({ binary, env }: LaunchRequest, account: unknown): Promise<boolean> {
  const { ANTHROPIC_API_KEY: _key, ...withoutKey } = env;
  const credentials = join(configDir(env), ".credentials.json");
  const { mtimeMs } = await stat(credentials).catch(() => ({ mtimeMs: 0 })); // no credentials file: no login, or one in the system's keychain
  const tokens = [env["ANTHROPIC_AUTH_TOKEN"], env["CLAUDE_CODE_OAUTH_TOKEN"]].map(Boolean);
  const question = JSON.stringify([binary, credentials, mtimeMs, account ?? null, tokens]);
  const before = known.get(question);
  if (before !== undefined) return before;
  const status = await authStatus(binary, withoutKey);
  if (known.size >= maxKnown) known.clear();
  if (status !== null) known.set(question, status.loggedIn);
  return status?.loggedIn === true;
}
