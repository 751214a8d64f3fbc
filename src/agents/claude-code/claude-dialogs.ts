import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Environment, LaunchRequest } from "../template.ts";
import { changeClaudeConfig, readClaudeConfig } from "./claude-config.ts";
import { approved, keyAnswer, keyTail } from "./claude-key.ts";
import { authStatus } from "./claude-login.ts";
import { configDir, configPath } from "./claude-surroundings.ts";

/** Answers the first-run dialogs: on disk only what has no flag and no variable. Returns the variables. */
export async function answerFirstRunDialogs(request: LaunchRequest): Promise<Environment> {
  const path = await configPath(request.env);
  const variables: Record<string, string> = {};
  // Trust for this launch alone: it leaves with the process, as the registration of a folder can be taken back. It opens the
  // folder and runs the repository's hooks, but does not let the repository's settings allow themselves commands (measured).
  if (request.trustDir) variables["CLAUDE_CODE_SANDBOXED"] = "1";
  // Without it the agent refuses its most permissive mode as root; the caller has asked for that mode.
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
 * What to do about "use this API key?": nothing when there is no key or the person has answered before; keep a log-in that is
 * there; else the key is the log-in.
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

/** Without the key. Asked anew (0.4 s) when the account or the credentials changed. */
async function isLoggedIn({ binary, env }: LaunchRequest, account: unknown): Promise<boolean> {
  const { ANTHROPIC_API_KEY: _key, ...withoutKey } = env;
  const credentials = join(configDir(env), ".credentials.json");
  const { mtimeMs } = await stat(credentials).catch(() => ({ mtimeMs: 0 })); // none here, or in the system's keychain
  const tokens = [env["ANTHROPIC_AUTH_TOKEN"], env["CLAUDE_CODE_OAUTH_TOKEN"]].map(Boolean);
  const question = JSON.stringify([binary, credentials, mtimeMs, account ?? null, tokens]);
  const before = known.get(question);
  if (before !== undefined) return before;
  const status = await authStatus(binary, withoutKey);
  if (known.size >= maxKnown) known.clear();
  if (status !== null) known.set(question, status.loggedIn);
  return status?.loggedIn === true;
}
