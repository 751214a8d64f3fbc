import { resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import type { z } from "zod";
import { exitCodes, exitCodeWords } from "./exit-code.ts";

/** Options that every command has. */
export interface CommonOptions {
  readonly json?: true;
}

/**
 * Adds `--json`, and to a command's help its examples and how it ends.
 * @param error what the exit code 1 says beside an error
 */
export function describe(command: Command, examples: readonly string[], error?: string): Command {
  const lines = examples.map((example) => `  $ ${example}`).join("\n");
  const ends = exitCodeWords.map(({ code, short }) => {
    const also = code === exitCodes.error && error !== undefined ? `${short}, or ${error}` : short;
    return `${code} ${also}`;
  });
  const help = `\nExamples:\n${lines}\n\nExit codes: ${ends.join("; ")}`;
  return command.option("--json", "print JSON").addHelpText("after", help);
}

/** Parses a comma-separated list against the values of `schema`. */
export function listOf<T>(schema: z.ZodType<T>): (text: string) => readonly T[] {
  return (text) => {
    const items = text.split(",").map((item) => item.trim());
    return [...new Set(items)].map(oneOf(schema));
  };
}

/** Parses one of the values of `schema`. */
export function oneOf<T>(schema: z.ZodType<T>): (text: string) => T {
  return (text) => {
    const parsed = schema.safeParse(text);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new InvalidArgumentError(
      issue?.code === "invalid_value"
        ? `Use one of: ${issue.values.join(", ")}.`
        : (issue?.message ?? "Unknown value."),
    );
  };
}

/** Parses a whole number within bounds. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^-?\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Use a whole number from ${min} to ${max}.`);
  };
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
/** A token for longer than ten years is one without end; say so by leaving `--expires` out. */
const maxLifetimeMs = 3_660 * 86_400_000;

/** Parses `90m`, `12h`, `30d`, `4w` into milliseconds. */
export function duration(text: string): number {
  const match = /^(\d{1,6})([mhdw])$/.exec(text);
  const valueMs = Number(match?.[1] ?? 0) * (unitMs[match?.[2] ?? ""] ?? 0);
  if (valueMs > 0 && valueMs <= maxLifetimeMs) return valueMs;
  throw new InvalidArgumentError("Use a duration such as 90m, 12h, 30d or 4w, up to ten years.");
}

/** For an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** `path` from the folder in which the command runs. */
export function absolutePath(path: string, cwd: string): string {
  return resolve(cwd, path);
}
