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
    long: "an error; standard error has one line with its code and what to do",
  },
  { code: exitCodes.usage, short: "not understood", long: "the command was not understood" },
  {
    code: exitCodes.noGateway,
    short: "no gateway runs",
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
  session_not_found: "`postern coding list` shows the sessions.",
  token_not_found: "`postern token list` shows the tokens.",
  browser_session_not_found: "`postern browser list` shows the browsers.",
  client_not_found: "`postern client list` shows the clients.",
  webhook_not_found: "`postern webhook list` shows the webhooks.",
  folder_not_found: "`postern folder list` shows the folders.",
  log_not_found: "`postern logs list` shows the entries.",
  account_exists: "`postern account list` shows the accounts; `postern login-link --account` signs in to one.",
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
