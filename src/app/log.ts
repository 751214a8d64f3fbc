import { type Level, pino } from "pino";
import { z } from "zod";
import type { Log } from "../core/log.ts";

/**
 * Logs to standard error: JSON lines, or readable lines in a terminal.
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

const lineSchema = z.looseObject({ level: z.number(), time: z.number(), msg: z.string().default("") });
const errorSchema = z.looseObject({ message: z.string().optional(), stack: z.string().optional() });

const levels: Readonly<Record<number, string>> = { 20: "debug", 30: "info", 40: "warn", 50: "error" };

/**
 * A readable log line: time, level, message and fields. Values stay quoted, so that they cannot move the cursor.
 * @param json one line of pino; anything else is returned unchanged
 */
export function readableLogLine(json: string): string {
  const line = lineSchema.safeParse(parsed(json));
  if (!line.success) return json;
  const { level, time, msg, error, ...fields } = line.data;
  const at = new Date(time).toTimeString().slice(0, 8);
  const parts = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`);
  const { message, stack } = errorSchema.safeParse(error).data ?? {};
  if (message !== undefined) parts.push(shown(message));
  const frames = (stack ?? "").split("\n").slice(1);
  const head = [at, (levels[level] ?? String(level)).padEnd(5), msg, ...parts].join("  ");
  return `${[head, ...frames.map((frame) => `      ${withoutControls(frame.trim())}`)].join("\n")}\n`;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null; // not a line of pino
  }
}

function shown(value: unknown): string {
  if (typeof value === "string" && /^[\x21-\x7e]+$/.test(value)) return value;
  return withoutControls(JSON.stringify(value)); // JSON does not escape C1 controls
}

function withoutControls(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, "?");
}
