import { type Level, pino } from "pino";
import type { Log } from "../core/log.ts";
import { readableLogLine } from "./readable-log.ts";

/**
 * Writes one JSON line for each event to standard error, and a readable one where that is a terminal. Errors show their message, code and
 * stack.
 */
export function createLog(level: Level | "silent"): Log {
  const destination = pino.destination({ dest: 2, sync: true });
  return pino(
    {
      level,
      base: null,
      serializers: { error: pino.stdSerializers.err },
      redact: ["authorization", "token", "prompt"],
    },
    process.stderr.isTTY ? { write: (line) => void destination.write(readableLogLine(line)) } : destination,
  );
}
