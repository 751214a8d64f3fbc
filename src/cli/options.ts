import { resolve } from "node:path";
import { type Command, CommanderError, InvalidArgumentError } from "commander";
import { z } from "zod";
import { isPosternError, messageOf } from "../core/errors.ts";
import { plainLine, printableJson } from "./plain-text.ts";

/** Options that every command has. */
export interface CommonOptions {
  readonly json?: true;
}

/**
 * Adds `--json`, and the examples and exit codes to the help.
 * @param error another meaning of exit code 1 for this command
 */
export function describe(command: Command, examples: readonly string[], error?: string): Command {
  examplesByCommand.set(command, examples);
  const lines = examples.map((example) => `  $ ${example}`).join("\n");
  const ends = exitCodeWords.map(({ code, short }) => {
    const also = code === exitCodes.error && error !== undefined ? `${short}, or ${error}` : short;
    return `${code} ${also}`;
  });
  const help = `\nExamples:\n${lines}\n\nExit codes: ${ends.join("; ")}`;
  return command.option("--json", "print JSON").addHelpText("after", help);
}

const examplesByCommand = new WeakMap<Command, readonly string[]>();

/** From {@link describe}. */
export function examplesOf(command: Command): readonly string[] {
  return examplesByCommand.get(command) ?? [];
}

/** Parses a comma-separated list against the values of `schema`. */
export function listOf<T>(schema: z.ZodType<T>): (text: string) => readonly T[] {
  const parse = (text: string): readonly T[] => {
    const items = text.split(",").map((item) => item.trim());
    return [...new Set(items)].map(oneOf(schema));
  };
  choices.set(parse, valuesOf(schema));
  return parse;
}

const choices = new WeakMap<object, readonly string[]>();

/** The values that a parser of {@link oneOf} or {@link listOf} accepts, for shell completion; empty if they cannot be listed. */
export function choicesOf(parse: object | undefined): readonly string[] {
  return (parse && choices.get(parse)) ?? [];
}

function valuesOf(schema: z.ZodType): readonly string[] {
  const inner = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  return inner instanceof z.ZodEnum ? inner.options.filter((value) => typeof value === "string") : [];
}

/** Parses one of the values of `schema`. */
export function oneOf<T>(schema: z.ZodType<T>): (text: string) => T {
  const parse = (text: string): T => {
    const parsed = schema.safeParse(text);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new InvalidArgumentError(
      issue?.code === "invalid_value"
        ? `Use one of: ${issue.values.join(", ")}.`
        : (issue?.message ?? "Unknown value."),
    );
  };
  choices.set(parse, valuesOf(schema));
  return parse;
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
/** Ten years; leave `--expires` out for a token that never expires. */
const maxLifetimeMs = 3_660 * 86_400_000;

/** Parses `90m`, `12h`, `30d`, `4w` into milliseconds. */
export function duration(text: string): number {
  const match = /^(\d{1,6})([mhdw])$/.exec(text);
  const valueMs = Number(match?.[1] ?? 0) * (unitMs[match?.[2] ?? ""] ?? 0);
  if (valueMs > 0 && valueMs <= maxLifetimeMs) return valueMs;
  throw new InvalidArgumentError("Use a duration such as 90m, 12h, 30d or 4w, up to ten years.");
}

/** For an option that can be repeated. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** `path` relative to the working directory. */
export function absolutePath(path: string, cwd: string): string {
  return resolve(cwd, path);
}

/** How the command ends, for scripts. In every `--help`, by {@link exitCodeWords}. */
export const exitCodes = { ok: 0, error: 1, usage: 2, noGateway: 3 } as const;

/** Descriptions of {@link exitCodes}: `short` for the help of one command, `long` for the general help. */
export const exitCodeWords: readonly { readonly code: number; readonly short: string; readonly long: string }[] = [
  { code: exitCodes.ok, short: "done", long: "done" },
  {
    code: exitCodes.error,
    short: "an error",
    long: "an error; standard error shows its code and how to fix it",
  },
  { code: exitCodes.usage, short: "usage error", long: "the command line is not valid" },
  {
    code: exitCodes.noGateway,
    short: "no gateway is running",
    long: "no gateway is running: start it with `postern serve`",
  },
];

/** The exit code for anything that ended the command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (!isPosternError(error)) return exitCodes.error;
  if (error.code === "gateway_not_running") return exitCodes.noGateway;
  return error.code === "usage" ? exitCodes.usage : exitCodes.error;
}

/** The next step after an error. Defined here, because capabilities do not know the commands. */
const advice: Readonly<Record<string, string>> = {
  session_not_found: "List sessions with `postern coding list`. An ID can be shortened to 4 or more characters.",
  token_not_found: "List tokens with `postern token list`.",
  browser_session_not_found: "List browsers with `postern browser list`.",
  client_not_found: "List clients with `postern client list`.",
  webhook_not_found: "List webhooks with `postern webhook list`.",
  folder_not_found: "List folders with `postern folder list`.",
  log_not_found: "List entries with `postern memory list`.",
  account_exists: "List accounts with `postern account list`, or sign in to one with `postern login-link --account`.",
  gateway_running: "Stop it with `postern stop`, or choose another state folder with POSTERN_HOME.",
};

/** One line (or one JSON object) with the error and the next step; null when commander has printed it already. */
export function errorText(error: unknown, options: { readonly json: boolean }): string | null {
  if (error instanceof CommanderError) return null;
  const code = isPosternError(error) ? error.code : "internal_error";
  const detail = plainLine(messageOf(error));
  const more = advice[code];
  const message = more === undefined || detail.includes("`postern ") ? detail : `${detail} ${more}`;
  if (!options.json) return `postern: ${code}: ${message}`;
  return printableJson({ code, detail, ...(isPosternError(error) ? error.details : {}) }, { oneLine: true });
}
