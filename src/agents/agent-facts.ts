import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { Clock } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import { createSingleFlight } from "../core/single-flight.ts";
import { findExecutable, isExecutableFile } from "../platform/executables.ts";
import { runCommand } from "../platform/run-command.ts";
import type { AgentTemplate, Environment, LoginState } from "./template.ts";

/** What the machine tells of the agents: where they are, which version, whether logged in. */
export interface AgentFacts {
  /** The agent's program, looked up now: the configured path when there is one, else by name on PATH. */
  binary(template: AgentTemplate, configured: string | null, env: Environment): Promise<string | null>;
  /**
   * Asked once for each state of the file. Null when it does not tell within half a minute: after another it is asked anew, for those who ask
   * later.
   */
  version(template: AgentTemplate, binary: string, env: Environment): Promise<string | null>;
  /** Asked anew after half a minute. */
  login(template: AgentTemplate, binary: string, env: Environment): Promise<LoginState>;
  /** The next answer on this agent's log-in is asked anew. */
  forgetLogin(name: string): void;
}

// Gemini CLI takes a second or two for it, and was seen to take more than ten on a machine under load.
const versionTimeoutMs = 30_000;
// Short enough that a log-in shows soon, long enough that a page that asks often starts no processes.
const askedAgainMs = 30_000;
const maxCached = 200;

/** Facts with a memory of their own. */
export function createAgentFacts(clock: Clock): AgentFacts {
  const versions = new Map<string, { readonly version: string | null; readonly until: number }>();
  const versionFlights = createSingleFlight<string | null>();
  const logins = new Map<string, { readonly state: LoginState; readonly until: number }>();
  const loginFlights = createSingleFlight<LoginState>();
  /** Counts what may have changed an agent's log-in: an answer that was asked for before is not kept. */
  const loginChanges = new Map<string, number>();
  return {
    async binary(template, configured, env) {
      const wanted = configured ?? template.binaryName;
      if (isAbsolute(wanted)) return (await isExecutableFile(wanted)) ? wanted : null;
      return findExecutable(wanted, env["PATH"] ?? "");
    },
    async version({ probeEnv }, binary, env) {
      const key = await fileState(binary);
      const known = versions.get(key);
      if (known !== undefined && known.until > clock.now()) return known.version;
      const asked = versionFlights(key, async () => {
        const version = await askVersion(binary, { ...env, ...probeEnv });
        if (versions.size >= maxCached) versions.clear();
        // One that told nothing may have been slow.
        versions.set(key, { version, until: version === null ? clock.now() + askedAgainMs : Number.POSITIVE_INFINITY });
        return version;
      });
      if (known === undefined) return asked;
      asked.catch(() => undefined); // whoever comes next asks again
      return known.version;
    },
    async login(template, binary, env) {
      const changes = loginChanges.get(template.name) ?? 0;
      const key = JSON.stringify([template.name, binary, changes]);
      const known = logins.get(key);
      if (known !== undefined && known.until > clock.now()) return known.state;
      const state = await loginFlights(key, () => template.loginState(binary, env));
      if (logins.size >= maxCached) logins.clear();
      logins.set(key, { state, until: clock.now() + askedAgainMs });
      return state;
    },
    forgetLogin: (name) => void loginChanges.set(name, (loginChanges.get(name) ?? 0) + 1),
  };
}

async function fileState(path: string): Promise<string> {
  try {
    const { mtimeMs, size } = await stat(path);
    return JSON.stringify([path, mtimeMs, size]);
  } catch (error) {
    if (isErrno(error, "ENOENT", "EACCES", "ENOTDIR")) return path;
    throw error;
  }
}

async function askVersion(binary: string, env: Environment): Promise<string | null> {
  const { exitCode, stdout } = await runCommand([binary, "--version"], { env, timeoutMs: versionTimeoutMs });
  return exitCode === 0 ? (/\d+\.\d+(?:\.\d+)?(?:[-+.][0-9A-Za-z.-]+)?/.exec(stdout)?.[0] ?? null) : null;
}
