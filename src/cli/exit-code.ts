import { CommanderError } from "commander";
import { isPosternError, messageOf } from "../core/errors.ts";
import { plainLine, printableJson } from "./plain-text.ts";

/** How the command ends, for scripts. In every `--help`, by {@link exitCodeWords}. */
export const exitCodes = { ok: 0, error: 1, usage: 2, noGateway: 3 } as const;

/** Each of {@link exitCodes} in words: `short` for the help of one command, `long` for that of all. */
export const exitCodeWords: readonly { readonly code: number; readonly short: string; readonly long: string }[] = [
  { code: exitCodes.ok, short: "done", long: "done" },
  {
    code: exitCodes.error,
    short: "an error",
    long: "an error; standard error has its code and what to do",
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

/** What to do after an error of the inside, which does not know the commands. */
const advice: Readonly<Record<string, string>> = {
  session_not_found: "List sessions with `postern coding list`.",
  token_not_found: "List tokens with `postern token list`.",
  browser_session_not_found: "List browsers with `postern browser list`.",
  client_not_found: "List clients with `postern client list`.",
  webhook_not_found: "List webhooks with `postern webhook list`.",
  folder_not_found: "List folders with `postern folder list`.",
  log_not_found: "List entries with `postern logs list`.",
  account_exists: "List accounts with `postern account list`, or sign in to one with `postern login-link --account`.",
  gateway_running: "Stop that one first, or choose another state folder with POSTERN_HOME.",
};

/** One line (or one JSON object) that says what went wrong and what to do; null when commander has said it already. */
export function errorText(error: unknown, options: { readonly json: boolean }): string | null {
  if (error instanceof CommanderError) return null;
  const code = isPosternError(error) ? error.code : "internal_error";
  const detail = plainLine(messageOf(error));
  const more = advice[code];
  const message = more === undefined || detail.includes("`postern ") ? detail : `${detail} ${more}`;
  if (!options.json) return `postern: ${code}: ${message}`;
  return printableJson({ code, detail, ...(isPosternError(error) ? error.details : {}) }, { oneLine: true });
}
