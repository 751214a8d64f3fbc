import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { isErrno } from "../../src/core/errors.ts";
import { processRow } from "../../src/platform/process-table.ts";

// All folders of the tests are in one folder for each run. It is not below the temporary folder: some of them hold an agent's home, and
// Codex (0.156 to 0.169) creates no helper programs in a home below $TMPDIR, without which it cannot start bubblewrap.

/** Passes the run on to the processes that this one starts. */
const runVariable = "POSTERN_TEST_RUN";

/**
 * A new empty folder, by its real path. The caller removes it; what is left is removed when the run ends, or when the next one starts.
 *
 * @param label one short word, since paths of sockets below the folder have at most 107 bytes
 */
export function makeTestFolder(label: string): string {
  return mkdtempSync(join(startTestRun(), `${label}-`));
}

/** The run's folder. The first process that asks owns it. */
export function startTestRun(): string {
  const parent = privateFolder(parentOfRuns());
  const inherited = process.env[runVariable];
  const run = inherited ?? nameOfRun(process.pid);
  if (run === null) throw new Error("This process is not in the process table.");
  if (inherited === undefined) {
    removeLeftovers(parent);
    process.env[runVariable] = run;
    process.once("exit", () => remove(join(parent, run)));
  }
  return privateFolder(join(parent, run));
}

/**
 * /var/tmp rather than the user's cache folder: its paths are short, and an agent that reads the instructions in all folders above its
 * project finds none of the user's.
 */
function parentOfRuns(): string {
  const name = `postern-${userInfo().uid}`;
  const varTmp = realPath("/var/tmp");
  if (varTmp !== null && !isTemporary(varTmp)) return join(varTmp, name);
  return join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), name);
}

function isTemporary(folder: string): boolean {
  return `${folder}/`.startsWith(`${realPath(tmpdir())}/`);
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
}

/**
 * A folder that other users can neither write to nor list. Others can pass through it: as root, PostgreSQL runs as another user. Anyone can create
 * a folder in /var/tmp, so one that exists must be this user's.
 */
function privateFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o711 });
  const { uid } = userInfo();
  const found = lstatSync(path);
  if (!found.isDirectory() || found.uid !== uid) throw new Error(`${path} is not a folder of user ${uid}. Remove it.`);
  return path;
}

/** Unlike that of any other process, also of a later one with the same pid; null when there is no such process. */
function nameOfRun(pid: number): string | null {
  const row = processRow(pid);
  return row === undefined ? null : `${pid}-${createHash("sha256").update(row.startTime).digest("hex").slice(0, 6)}`;
}

/** Removes the folders of runs whose process was killed. */
function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = /^(\d+)-[0-9a-f]{6}$/.exec(name)?.[1];
    if (pid !== undefined && nameOfRun(Number(pid)) !== name) remove(join(parent, name));
  }
}

function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 });
  } catch (error) {
    // A process that a test left running still writes there, or a test took permissions away: the next run tries again.
    console.warn(`Cannot remove ${folder}: ${String(error)}`);
  }
}
