import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { isErrno } from "../../core/errors.ts";
import { processRow } from "../../platform/process-table.ts";

/** `<config>/sessions/<pid>.json`: what a running Claude Code says of itself (measured). */
const stateSchema = z.looseObject({
  pid: z.int().positive(),
  sessionId: z.string(),
  status: z.string().optional(),
  /** The kernel's start time of the process, in clock ticks since boot (Linux). */
  procStart: z.string().optional(),
});

type ClaudeState = z.infer<typeof stateSchema>;

// One file for each running Claude Code, and stale ones of those that were killed.
const maxStates = 5_000;

/** The state files whose process lives and is still the one that wrote them. */
export async function liveClaudeStates(folder: string): Promise<readonly ClaudeState[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return [];
    throw error;
  });
  const pids = names.flatMap((name) => /^(\d+)\.json$/.exec(name)?.[1] ?? []).slice(0, maxStates);
  const states = await Promise.all(pids.map((pid) => liveClaudeState(folder, Number(pid))));
  return states.filter((state) => state !== null);
}

/** The state that process `pid` wrote; null when it wrote none, is gone, or has a successor with the same pid. */
export async function liveClaudeState(folder: string, pid: number): Promise<ClaudeState | null> {
  let text: string;
  try {
    text = await readFile(join(folder, `${pid}.json`), "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return null;
    throw error;
  }
  const state = parseState(text);
  if (state === null || state.pid !== pid) return null;
  const row = processRow(pid);
  if (row === undefined || row.zombie) return null;
  if (process.platform === "linux" && state.procStart !== undefined) {
    if (row.startTime !== state.procStart && !row.startTime.endsWith(`.${state.procStart}`)) return null;
  }
  return state;
}

function parseState(text: string): ClaudeState | null {
  try {
    return stateSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // read in the middle of a write: the next look tells
  }
}
