import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import { endGroups, type ProcessTree } from "../platform/processes.ts";
import { numberField, parseFields, textField } from "./fields.ts";

/** In the environment of every program: what a dead host's leftovers are known by. */
export const TERMINAL_ID_VARIABLE = "POSTERN_TERMINAL_ID";

/** A leftover gets little time: nobody can talk to it any more, and its session waits to be resumed. */
const LEFTOVER_GRACE_MS = 500;

/** The folder that holds one folder for each terminal: raw log and record. */
export function terminalsDir(stateDir: string): string {
  return join(stateDir, "terminals");
}

/** Notes which process runs in the terminal whose folder is `dir`, for the next host in case this one dies. */
export function writeTerminalRecord(
  dir: string,
  process: { readonly pid: number; readonly pidStartTime: string },
): void {
  writeFileSync(join(dir, "record.json"), JSON.stringify(process), { mode: 0o600 });
}

/**
 * Ends whatever an earlier host of `stateDir` left behind and removes its folders. Only for the holder of the host lock.
 * Resolves with the number of terminals found.
 */
export async function clearLeftovers(stateDir: string, clock: Clock): Promise<number> {
  const root = terminalsDir(stateDir);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const terminalIds = readdirSync(root);
  const trees = terminalIds.map((terminalId) => leftoverTree(root, terminalId));
  if (trees.length > 0) await endGroups(trees, { graceMs: LEFTOVER_GRACE_MS, clock });
  for (const terminalId of terminalIds) rmSync(join(root, terminalId), { recursive: true, force: true });
  return terminalIds.length;
}

function leftoverTree(root: string, terminalId: string): ProcessTree {
  const marker = { name: TERMINAL_ID_VARIABLE, value: terminalId };
  let text: string;
  try {
    text = readFileSync(join(root, terminalId, "record.json"), "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return { leader: null, marker }; // the host died between folder and record
    throw error;
  }
  const record = parseFields(text) ?? {};
  const pid = numberField(record, "pid");
  const startTime = textField(record, "pidStartTime");
  return { leader: pid === undefined || !startTime ? null : { pid, startTime }, marker };
}
