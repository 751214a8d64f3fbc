import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { isErrno } from "../../core/errors.ts";
import { processRow } from "../../platform/process-table.ts";
import { readSmallFile } from "../../platform/regular-file.ts";
import type { ExternalHolder, ObservedActivity } from "../template.ts";

/** `<config>/sessions/<pid>.json`, the state of a running Claude Code (measured). */
const stateSchema = z.looseObject({
  pid: z.int().positive(),
  sessionId: z.string(),
  status: z.string().optional(),
  statusUpdatedAt: z.number().optional(),
  /** With the status `waiting`: `permission prompt`, `input needed`, `dialog open`. */
  waitingFor: z.string().optional(),
  /** The process's start time in clock ticks since boot (Linux). */
  procStart: z.string().optional(),
});

type ClaudeState = z.infer<typeof stateSchema>;

// There is one file for each running Claude Code, and stale files of killed processes.
const maxStates = 5_000;

/** The activity in a state file; null if unknown. */
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

/** The sessions whose state file belongs to a live process. */
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

/** Measured: less than 1 KB. An agent's child can write anything there. */
const maxStateBytes = 256 * 1024;

/** The state of process `pid`; null if it wrote none, is gone, or its pid was reused. */
export async function liveClaudeState(folder: string, pid: number): Promise<ClaudeState | null> {
  // Checked first: most files are left behind by killed processes.
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
    return null; // incompletely written: the next read succeeds
  }
}
