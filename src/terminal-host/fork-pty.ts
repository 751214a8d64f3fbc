import { closeSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { messageOf, PosternError } from "../core/errors.ts";
import { holdFolder } from "../platform/held-folder.ts";
import { sendSignal } from "../platform/processes.ts";

/** The functions of node-pty's addon. Its wrapper is not used, because it loses output that is still unread when the program exits. */
interface NativePty {
  fork(
    file: string,
    args: readonly string[],
    env: readonly string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helperPath: string,
    onExit: (exitCode: number, signal: number) => void,
  ): { readonly fd: number; readonly pid: number; readonly pty: string };
  resize(fd: number, cols: number, rows: number, pixelWidth: number, pixelHeight: number): void;
}

const PACKAGE = "@lydell/node-pty";

/** @throws when there is no binary for this platform */
export function loadNativePty(): { readonly native: NativePty; readonly helperPath: string } {
  const require = createRequire(import.meta.url);
  const loaded: unknown = require(PACKAGE);
  if (typeof loaded !== "object" || loaded === null || !("native" in loaded) || !isNativePty(loaded.native)) {
    throw new Error(`${PACKAGE} has no native functions on this platform. Install the version that package.json pins.`);
  }
  return { native: loaded.native, helperPath: spawnHelperPath(require) };
}

function isNativePty(value: unknown): value is NativePty {
  if (typeof value !== "object" || value === null) return false;
  return "fork" in value && typeof value.fork === "function" && "resize" in value && typeof value.resize === "function";
}

/** On macOS the addon starts programs through a small binary. */
function spawnHelperPath(require: NodeJS.Require): string {
  if (process.platform !== "darwin") return "";
  const target = `${process.platform}-${process.arch}`;
  const entry = createRequire(require.resolve(PACKAGE)).resolve(`${PACKAGE}-${target}`);
  return resolve(dirname(entry), "..", "prebuilds", target, "spawn-helper");
}

/** Forks in `dir`. @throws PosternError `dir_changed` | `spawn_failed`; nothing runs then */
export function forkIn<T extends { readonly fd: number; readonly pid: number }>(
  dir: string,
  fork: (cwd: string) => T,
): T {
  const workingDir = openWorkingDir(dir);
  try {
    const forked = fork(workingDir.path);
    try {
      workingDir.verify();
      return forked;
    } catch (error) {
      closeSync(forked.fd);
      sendSignal(-forked.pid, "SIGKILL");
      throw error;
    }
  } finally {
    workingDir.close();
  }
}

/**
 * Opens the directory for a program's `chdir`. The folder rule allowed this path; if a part of it has since been replaced by a link, it leads
 * to a directory that the rule may not allow.
 * @throws PosternError `dir_changed` when a part of the path is a link, `spawn_failed` when there is no such directory
 */
export function openWorkingDir(dir: string) {
  const held = hold(dir);
  if (held === null) throw changed(dir);
  return {
    // On Linux, this path leads to the directory that was opened, through the child's copy of the descriptor.
    path: process.platform === "linux" ? `/proc/self/fd/${held.fd}` : dir,
    /** Checks after the start whether the path still leads there. @throws PosternError `dir_changed` */
    verify(): void {
      if (!held.isSame()) throw changed(dir);
    },
    close: held.close,
  };
}

function hold(dir: string) {
  try {
    return holdFolder(dir);
  } catch (error) {
    throw new PosternError("spawn_failed", `Cannot start a terminal: ${messageOf(error)}.`);
  }
}

function changed(dir: string): PosternError {
  return new PosternError(
    "dir_changed",
    `Cannot use ${dir}: it, or a folder above it, was replaced by a link. Use its real path.`,
  );
}
