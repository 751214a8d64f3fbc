import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { Clock } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import { createSingleFlight } from "../core/single-flight.ts";
import { findExecutable, isExecutableFile } from "../platform/executables.ts";
import { runCommand } from "../platform/run-command.ts";
import type { AgentTemplate, Environment, LoginState } from "./template.ts";

/** Facts about the installed agents: path, version and login state. */
export interface AgentFacts {
  /** The agent's program: the configured path if there is one, else the name looked up on PATH. */
  binary(template: AgentTemplate, configured: string | null, env: Environment): Promise<string | null>;
  /** Determined again only when the file changes. Null if the program does not answer within half a minute; it is asked again half a minute later. */
  version(template: AgentTemplate, binary: string, env: Environment): Promise<string | null>;
  /** Cached for half a minute. */
  login(template: AgentTemplate, binary: string, env: Environment): Promise<LoginState>;
  /** Removes this agent's login state from the cache. */
  forgetLogin(name: string): void;
}

// Gemini CLI takes a second or two, and has taken more than ten on a loaded machine.
const versionTimeoutMs = 30_000;
// Short enough that a login shows soon, long enough that a polling page starts no processes.
const askedAgainMs = 30_000;
const maxCached = 200;

export function createAgentFacts(clock: Clock): AgentFacts {
  const versions = new Map<string, { readonly version: string | null; readonly until: number }>();
  const versionFlights = createSingleFlight<string | null>();
  const logins = new Map<string, { readonly state: LoginState; readonly until: number }>();
  const loginFlights = createSingleFlight<LoginState>();
  /** Incremented when the login may have changed, so that earlier answers are not reused. */
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
        // If there was no answer, the program may just have been slow, so it is asked again later.
        versions.set(key, { version, until: version === null ? clock.now() + askedAgainMs : Number.POSITIVE_INFINITY });
        return version;
      });
      if (known === undefined) return asked;
      asked.catch(() => undefined); // the next caller asks again
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
    // npm gives all files the same modification time.
    const { dev, ino, mtimeMs, ctimeMs, size } = await stat(path);
    return JSON.stringify([path, dev, ino, mtimeMs, ctimeMs, size]);
  } catch (error) {
    if (isErrno(error, "ENOENT", "EACCES", "ENOTDIR")) return path;
    throw error;
  }
}

async function askVersion(binary: string, env: Environment): Promise<string | null> {
  const { exitCode, stdout } = await runCommand([binary, "--version"], { env, timeoutMs: versionTimeoutMs });
  return exitCode === 0 ? (/\d+\.\d+(?:\.\d+)?(?:[-+.][0-9A-Za-z.-]+)?/.exec(stdout)?.[0] ?? null) : null;
}
