import type { Command } from "commander";
import { factPageSchema, logSearchSchema, type SearchLogsInput, searchLogsInputSchema } from "../wire/logs.ts";
import { createGatewayClient } from "./gateway-client.ts";
import { count, factTable, hitText } from "./logs-text.ts";
import { type CommonOptions, describe, oneOf, wholeNumber } from "./options.ts";
import { printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { markerOf } from "./search-command.ts";
import { withQuery } from "./with-query.ts";

interface FactsOptions extends CommonOptions {
  readonly subject?: string;
  readonly predicate?: string;
  readonly object?: string;
  readonly asOf?: string;
  readonly knownAt?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

interface SearchOptions extends CommonOptions, Pick<SearchLogsInput, "source" | "status" | "limit"> {
  readonly session?: string;
}

/** `postern logs search|facts`. */
export function addLogQueryCommands(group: Command, context: CliContext): void {
  describe(group.command("search"), [
    "postern logs search timeout",
    "postern logs search '\"flaky mirror\" retr' --json",
    "postern logs search release --session 0b0c…",
  ])
    .description(
      'find entries by words; all have to occur, "quoted words" as a phrase, the last word also as a beginning',
    )
    .argument("<query...>", "what to look for")
    .option("--session <id>", "only of this session")
    .option("--source <source>", "session (recorded) or api (submitted)", oneOf(searchLogsInputSchema.shape.source))
    .option("--status <status>", "pending, ready or failed", oneOf(searchLogsInputSchema.shape.status))
    .option("--limit <count>", "at most so many (default: 20)", wholeNumber(1, 200))
    .action(async (words: readonly string[], options: SearchOptions) => {
      const { json, session: sessionId, source, status, limit } = options;
      const q = words.join(" ");
      const gateway = createGatewayClient(await context.ports.socketPath());
      const found = await gateway.send(
        { method: "GET", path: withQuery("/api/v1/search", { q, sessionId, source, status, limit }) },
        logSearchSchema,
      );
      if (json) return context.stdout(`${printableJson(found)}\n`);
      const mark = context.interactive ? markerOf(q) : (text: string) => text;
      for (const hit of found.hits) context.stdout(`${hitText(hit, mark)}\n`);
      const more = found.hasMore ? " There are more: --limit." : "";
      const partial = found.partial ? " Only the newest with these words were looked at." : "";
      const shown = found.hits.length === 0 ? "Nothing found." : `${count(found.hits.length, "entry", "entries")}.`;
      return context.stderr(`${shown}${more}${partial}\n`);
    });

  describe(group.command("facts"), [
    "postern logs facts --predicate status",
    "postern logs facts --subject Decision:timeout",
    "postern logs facts --object File:/code/app/main.ts --predicate edited --as-of 2026-05-01T00:00:00Z",
  ])
    .description("list facts, the newest first, each with the time that it holds")
    .option("--subject <thing>", "Type:key, or an ID")
    .option("--predicate <name>", "decided, status, edited, read, ran, last_exit, current_branch, …")
    .option("--object <thing>", "Type:key, or an ID")
    .option("--as-of <time>", "only what held then (ISO 8601)")
    .option("--known-at <time>", "as if nothing had been recorded since (ISO 8601)")
    .option("--limit <count>", "at most so many (default: 100)", wholeNumber(1, 200))
    .option("--cursor <cursor>", "go on where a list before ended")
    .action(async ({ json, ...query }: FactsOptions) => {
      const gateway = createGatewayClient(await context.ports.socketPath());
      const page = await gateway.send({ method: "GET", path: withQuery("/api/v1/facts", query) }, factPageSchema);
      if (json) return context.stdout(`${printableJson(page)}\n`);
      if (page.facts.length === 0) return context.stderr("Nothing is known of it.\n");
      context.stdout(`${factTable(page)}\n`);
      if (page.nextCursor !== null) context.stderr(`More: --cursor ${page.nextCursor}\n`);
    });
}
