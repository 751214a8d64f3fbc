import { spawn } from "node:child_process";
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { numberField, parseFields, textField } from "./fields.ts";

/** The options of a host process, passed to it as one JSON argument. */
export interface HostOptions {
  readonly socketPath: string;
  readonly stateDir: string;
  readonly version: string;
  /** The host exits after this long without terminals and connections. */
  readonly idleExitMs: number;
  /** The maximum size of each terminal's raw log; at least 1 MiB. */
  readonly rawLogMaxBytes: number;
  /** Limits for all recordings of ended terminals. */
  readonly recordingsMaxBytes: number;
  readonly recordingsMaxCount: number;
}

export const DEFAULT_RAW_LOG_MAX_BYTES = 64 * 1024 * 1024;
const DEFAULTS = {
  version: "unknown",
  idleExitMs: 10 * 60_000, // longer than a gateway's upgrade takes
  rawLogMaxBytes: DEFAULT_RAW_LOG_MAX_BYTES,
  recordingsMaxBytes: 1024 * 1024 * 1024,
  recordingsMaxCount: 500,
} as const;
/** Room for one more read and its segment after the program was paused for the screen model. With less, output that the model needs is dropped. */
const MIN_RAW_LOG_BYTES = 1024 * 1024;

/** Parses the host's argument; undefined if it lacks a path. */
export function parseHostOptions(text: string): HostOptions | undefined {
  const fields = parseFields(text) ?? {};
  const socketPath = textField(fields, "socketPath");
  const stateDir = textField(fields, "stateDir");
  if (socketPath === undefined || stateDir === undefined) return undefined;
  const number = (name: Exclude<keyof typeof DEFAULTS, "version">): number =>
    numberField(fields, name) ?? DEFAULTS[name];
  return {
    socketPath,
    stateDir,
    version: textField(fields, "version") ?? DEFAULTS.version,
    idleExitMs: number("idleExitMs"),
    rawLogMaxBytes: Math.max(number("rawLogMaxBytes"), MIN_RAW_LOG_BYTES),
    recordingsMaxBytes: number("recordingsMaxBytes"),
    recordingsMaxCount: number("recordingsMaxCount"),
  };
}

/** If the log of earlier hosts is larger than this, it is emptied when a host starts. */
const MAX_LOG_BYTES = 1024 * 1024;

/**
 * Starts a host that outlives this process, detached, with its output in `host.log` of the state folder and none of the gateway's
 * environment. While another host holds the lock, the new one exits immediately. With the compile cache, a host uses 38 MB less memory.
 * @returns its pid; undefined when it could not be started
 */
export function startHost(nodePath: string, options: Partial<HostOptions> & { readonly stateDir: string }) {
  mkdirSync(options.stateDir, { recursive: true, mode: 0o700 });
  const cacheDir = join(options.stateDir, "compile-cache");
  mkdirSync(cacheDir, { recursive: true, mode: 0o700 });
  const logFile = openSync(join(options.stateDir, "host.log"), "a", 0o600);
  try {
    if (fstatSync(logFile).size > MAX_LOG_BYTES) ftruncateSync(logFile, 0);
    const here = import.meta.url;
    const main = fileURLToPath(new URL(`./main${extname(here)}`, here));
    const child = spawn(nodePath, ["--disable-warning=ExperimentalWarning", main, JSON.stringify(options)], {
      cwd: options.stateDir,
      env: { NODE_COMPILE_CACHE: cacheDir },
      detached: true,
      stdio: ["ignore", logFile, logFile],
    });
    child.on("error", () => undefined); // the caller notices that no host answers
    child.unref();
    return child.pid;
  } finally {
    closeSync(logFile);
  }
}
