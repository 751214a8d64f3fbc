import { spawn } from "node:child_process";
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HostOptions } from "./host-options.ts";

/** At a start a larger log of earlier hosts is emptied first. */
const MAX_LOG_BYTES = 1024 * 1024;

/**
 * Starts a host that outlives this process: in a session of its own, its output in `host.log` of the state folder, without the
 * gateway's environment, so that nothing of it can reach a program. When another host holds the lock, the new one leaves at once.
 * Compiled code is kept: a host that starts from the cache takes 38 MB less, because it needs no TypeScript compiler.
 * @returns its process's number; undefined when there is none
 */
export function startHost(nodePath: string, options: HostOptions): number | undefined {
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
    child.on("error", () => undefined); // the caller notices that no host answers, and says where the log is
    child.unref();
    return child.pid;
  } finally {
    closeSync(logFile);
  }
}
