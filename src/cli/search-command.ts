import type { Command } from "commander";
import { type SearchInput, type SearchOutput, searchInputSchema, searchOutputSchema } from "../wire/session-lists.ts";
import { callTool } from "./context.ts";
import { absolutePath, type CommonOptions, describe, oneOf, wholeNumber } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface SearchOptions extends CommonOptions {
  readonly in?: NonNullable<SearchInput["in"]>;
  readonly agent?: string;
  readonly dir?: string;
  readonly limit?: number;
  readonly offset?: number;
}

/** `postern coding search`: sessions by words of their title, first message or turns. */
export function addSearchCommand(group: Command, context: CliContext): void {
  describe(group.command("search"), [
    "postern coding search login redirect",
    "postern coding search --in all '\"cannot find module\"'",
    "postern coding search --in all --dir . --agent codex flaky te",
    "postern coding search --json 登录 | jq -r '.sessions[].sessionId'",
  ])
    .description(
      'search all sessions on this machine; all words must occur, "quoted words" as a phrase, and the last word also as a prefix',
    )
    .argument("<query...>", "words to search for")
    .option(
      "--in <where>",
      "title (and first message), or all turns (default: title)",
      oneOf(searchInputSchema.shape.in),
    )
    .option("--agent <name>", "only sessions of this agent")
    .option("--dir <path>", "only sessions in this folder or below")
    .option("--limit <count>", "at most so many (default: 10)", wholeNumber(1, 200))
    .option("--offset <count>", "skip this many", wholeNumber(0, 10_000_000))
    .action((query: readonly string[], options: SearchOptions) => search(query.join(" "), { options, context }));
}

async function search(
  query: string,
  { options, context }: { readonly options: SearchOptions; readonly context: CliContext },
): Promise<void> {
  const { json, dir, ...filters } = options;
  const input: SearchInput = { query, ...filters, ...(dir !== undefined && { dir: absolutePath(dir, context.cwd) }) };
  const output = await callTool(context, "coding_search_sessions", { input, output: searchOutputSchema });
  if (json) return context.stdout(`${printableJson(output)}\n`);
  const mark = context.interactive ? markerOf(query) : (text: string) => text;
  for (const session of output.sessions) context.stdout(`${sessionText(session, mark)}\n`);
  context.stderr(`${footer(output)}\n`);
}

function sessionText(session: SearchOutput["sessions"][number], mark: (text: string) => string): string {
  const { match } = session;
  const facts = [session.sessionId, session.agent, session.status, session.updatedAt, session.dir];
  const lines = [plainLine(session.title ?? "(no title)"), `  ${facts.map(plainLine).join(" · ")}`];
  if (match.field === "title") return [mark(lines[0] ?? ""), ...lines.slice(1)].join("\n");
  const where = match.field === "turn" ? `turn ${match.turnIndex ?? "?"}` : "first message";
  return [...lines, `  ${where}: ${mark(plainLine(match.snippet))}`].join("\n");
}

function footer({ sessions, total, offset, hasMore, indexing }: SearchOutput): string {
  const shown = total === 0 ? "No session found." : `${offset + 1} to ${offset + sessions.length} of ${total}.`;
  const found = sessions.length === 0 && total > 0 ? `${total} found, none on this page.` : shown;
  const more = hasMore ? ` More: --offset ${offset + sessions.length}.` : "";
  const partial = indexing === null ? "" : ` ${indexing.done} of ${indexing.total} transcripts indexed so far.`;
  return `${found}${more}${partial}`;
}

/** Shows the query's words in bold. What differs by an accent is found, but not shown so. */
export function markerOf(query: string): (text: string) => string {
  const words = query.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  if (words.length === 0) return (text) => text;
  const longestFirst = words.toSorted((one, other) => other.length - one.length);
  // Where words have spaces between them, a word begins after none of its letters.
  const pattern = new RegExp(`(?<![a-z0-9])(?:${longestFirst.join("|")})`, "giu");
  return (text) => text.replace(pattern, (found) => `\u001b[1m${found}\u001b[22m`);
}
