import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { isErrno } from "../../core/errors.ts";
import { processRow } from "../../platform/process-table.ts";
import { readSmallFile } from "../../platform/regular-file.ts";
import type { ExternalHolder, ObservedActivity } from "../template.ts";

/** `<config>/sessions/<pid>.json`: what a running Claude Code says of itself (measured). */
const stateSchema = z.looseObject({
  pid: z.int().positive(),
  sessionId: z.string(),
  status: z.string().optional(),
  statusUpdatedAt: z.number().optional(),
  /** With the status `waiting`: `permission prompt`, `input needed`, `dialog open`. */
  waitingFor: z.string().optional(),
  /** The kernel's start time of the process, in clock ticks since boot (Linux). */
  procStart: z.string().optional(),
});

type ClaudeState = z.infer<typeof stateSchema>;

// One file for each running Claude Code, and stale ones of those that were killed.
const maxStates = 5_000;

/** What a state file says of its process; null for a word that is not known. */
export function claudeActivity({ status, waitingFor }: ClaudeState): ObservedActivity | null {
  switch (status) {
    case "busy":
      return "working";
    case "idle":
    case "shell": // a command runs in the background, and no turn
      return "idle";
    case "waiting":
      return waitingFor === "permission prompt" ? "needs_permission" : "needs_answer";
    default:
      return null;
  }
}

/** The sessions whose state file was written by a process that lives. */
export async function claudeSessions(folder: string): Promise<ReadonlyMap<string, ExternalHolder>> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return [];
    throw error;
  });
  const pids = names.flatMap((name) => /^(\d+)\.json$/.exec(name)?.[1] ?? []).slice(0, maxStates);
  const states = await Promise.all(pids.map((pid) => liveClaudeState(folder, Number(pid))));
  return new Map(
    states.flatMap((state) =>
      state === null ? [] : [[state.sessionId, { pid: state.pid, activity: claudeActivity(state) }] as const],
    ),
  );
}

/** Measured: less than 1 KB. An agent's child can put anything there. */
const maxStateBytes = 256 * 1024;

/** The state that process `pid` wrote; null when it wrote none, is gone, or has a successor with the same pid. */
export async function liveClaudeState(folder: string, pid: number): Promise<ClaudeState | null> {
  // Before the file: most are left behind by processes that were killed.
  const row = processRow(pid);
  if (row === undefined || row.zombie) return null;
  const text = await readSmallFile(join(folder, `${pid}.json`), maxStateBytes);
  if (!(text instanceof Buffer)) return null;
  const state = parseState(text.toString("utf8"));
  if (state === null || state.pid !== pid) return null;
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
