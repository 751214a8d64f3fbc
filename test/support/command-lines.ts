import { readdirSync, readFileSync } from "node:fs";

/** Polls the command lines of all processes on this machine, which any of its users can read. */
export interface CommandLineWatch {
  /** What was seen of a process, each different line once. */
  of(pid: number): readonly string[];
  /** The lines with this text, of any process. */
  holding(text: string): readonly string[];
  /** Reads them once more and stops. */
  close(): void;
}

/** A process of Node begins within this, so none is missed that does more than exec. */
const betweenMs = 20;

/** @see CommandLineWatch */
export function watchCommandLines(): CommandLineWatch {
  const seen = new Map<string, Set<string>>();
  function look(): void {
    for (const pid of readdirSync("/proc")) {
      if (!/^\d+$/.test(pid)) continue;
      const line = lineOf(pid);
      if (line !== "") seen.set(pid, (seen.get(pid) ?? new Set()).add(line));
    }
  }
  const timer = setInterval(look, betweenMs);
  return {
    of: (pid) => [...(seen.get(String(pid)) ?? [])],
    holding: (text) => [...seen.values()].flatMap((lines) => [...lines]).filter((line) => line.includes(text)),
    close() {
      clearInterval(timer);
      look();
    },
  };
}

function lineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return ""; // it has ended
  }
}
