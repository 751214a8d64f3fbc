import { type Level, pino } from "pino";
import type { Log } from "./core/log.ts";

/** Writes one JSON line for each event to standard error. Errors show their message, code and stack. */
export function createLog(level: Level | "silent"): Log {
  return pino(
    {
      level,
      base: null,
      serializers: { error: pino.stdSerializers.err },
      redact: ["authorization", "token", "prompt"],
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
