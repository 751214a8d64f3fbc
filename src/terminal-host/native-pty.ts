import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";

/** The functions of node-pty's addon, below its own wrapper: that one loses output that was not read when the program exits. */
export interface NativePty {
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

/** Loads the addon. Fails with a sentence that names the package when there is no binary for this platform. */
export function loadNativePty(): { readonly native: NativePty; readonly helperPath: string } {
  const require = createRequire(import.meta.url);
  const loaded: unknown = require(PACKAGE);
  if (typeof loaded !== "object" || loaded === null || !("native" in loaded) || !isNativePty(loaded.native)) {
    throw new Error(`${PACKAGE} has no native functions here; install the version that package.json pins.`);
  }
  return { native: loaded.native, helperPath: spawnHelperPath(require) };
}

function isNativePty(value: unknown): value is NativePty {
  if (typeof value !== "object" || value === null) return false;
  return "fork" in value && typeof value.fork === "function" && "resize" in value && typeof value.resize === "function";
}

/** On macOS the addon starts programs through a small binary beside it; elsewhere it is not used. */
function spawnHelperPath(require: NodeJS.Require): string {
  if (process.platform !== "darwin") return "";
  const target = `${process.platform}-${process.arch}`;
  const entry = createRequire(require.resolve(PACKAGE)).resolve(`${PACKAGE}-${target}`);
  return resolve(dirname(entry), "..", "prebuilds", target, "spawn-helper");
}
