import { type Level, pino } from "pino";
import { z } from "zod";
import type { Log } from "../core/log.ts";

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

const lineSchema = z.looseObject({ level: z.number(), time: z.number(), msg: z.string().default("") });
const errorSchema = z.looseObject({ message: z.string().optional(), stack: z.string().optional() });

const levels: Readonly<Record<number, string>> = { 20: "debug", 30: "info", 40: "warn", 50: "error" };

/**
 * A line of the log for a person at a terminal: the time of day, how grave, what, and its fields. What came from outside stays quoted, so
 * that nothing in it moves the cursor.
 * @param json one line as pino writes it; anything else is given back as it is
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
    return null; // not ours
  }
}

function shown(value: unknown): string {
  if (typeof value === "string" && /^[\x21-\x7e]+$/.test(value)) return value;
  return withoutControls(JSON.stringify(value)); // JSON leaves the second half of them as they are
}

function withoutControls(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, "?");
}
