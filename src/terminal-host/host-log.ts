import { ftruncateSync, writeSync } from "node:fs";
import type { Log } from "../core/log.ts";

/** The file begins anew when this much was written to it. */
const MAX_BYTES = 1024 * 1024;

/** JSON lines to the descriptor `fd`, a file opened for appending, which never grows far above 1 MiB. */
export function createHostLog(fd: number): Log {
  let written = 0;
  function write(level: string, fields: Readonly<Record<string, unknown>>, message: string): void {
    const line = `${JSON.stringify({ level, time: new Date().toISOString(), ...fields, msg: message })}\n`;
    try {
      if (written > MAX_BYTES) {
        ftruncateSync(fd, 0);
        written = 0;
      }
      written += writeSync(fd, line);
    } catch {
      // a full disk must not end the terminals; the line is lost
    }
  }
  return {
    debug: () => undefined,
    info: (fields, message) => write("info", fields, message),
    warn: (fields, message) => write("warn", fields, message),
    error: (fields, message) => write("error", fields, message),
  };
}
