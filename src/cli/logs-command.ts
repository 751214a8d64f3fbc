import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import {
  type ListLogsInput,
  listLogsInputSchema,
  logDetailSchema,
  logEntrySchema,
  logPageSchema,
  maxLogCharacters,
  sessionRecordedSchema,
  submitLogInputSchema,
} from "../wire/logs.ts";
import { createGatewayClient, type GatewayClient } from "./gateway-client.ts";
import { addForgetCommands } from "./logs-forget-command.ts";
import { addLogQueryCommands } from "./logs-query-command.ts";
import { count, detailText, entryTable } from "./logs-text.ts";
import { type CommonOptions, describe, oneOf, wholeNumber } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { withQuery } from "./with-query.ts";

interface ListOptions extends CommonOptions, Pick<ListLogsInput, "source" | "status" | "limit" | "cursor"> {
  readonly session?: string;
}

interface AddOptions extends CommonOptions {
  readonly title?: string;
  readonly session?: string;
}

/** `postern logs …`: what is remembered of sessions, and how it is forgotten; through the running gateway, as the owner. */
export function addLogsCommands(program: Command, context: CliContext): void {
  const group = program.command("logs").description("ask what is remembered of sessions, and delete it for good");
  addListCommand(group, context);
  addShowCommand(group, context);
  addLogQueryCommands(group, context);
  addAddCommands(group, context);
  addForgetCommands(group, context);
}

function addListCommand(group: Command, context: CliContext): void {
  describe(group.command("list"), [
    "postern logs list",
    "postern logs list --session 0b0c… --limit 200",
    "postern logs list --json | jq -r '.logs[].logId'",
  ])
    .description("list what is remembered, the newest first")
    .option("--session <id>", "only of this session")
    .option("--source <source>", "session (recorded) or api (submitted)", oneOf(listLogsInputSchema.shape.source))
    .option("--status <status>", "pending, ready or failed", oneOf(listLogsInputSchema.shape.status))
    .option("--limit <count>", "at most so many (default: 50)", wholeNumber(1, 200))
    .option("--cursor <cursor>", "go on where a list before ended")
    .action(async ({ json, session: sessionId, source, status, limit, cursor }: ListOptions) => {
      const path = withQuery("/api/v1/logs", { sessionId, source, status, limit, cursor });
      const page = await (await connect(context)).send({ method: "GET", path }, logPageSchema);
      if (json) return context.stdout(`${printableJson(page)}\n`);
      if (page.logs.length === 0) return context.stderr("Nothing is remembered.\n");
      context.stdout(`${entryTable(page.logs)}\n`);
      if (page.nextCursor !== null) context.stderr(`More: --cursor ${page.nextCursor}\n`);
    });
}

function addShowCommand(group: Command, context: CliContext): void {
  describe(group.command("show"), ["postern logs show 0198…", "postern logs show 0198… --json"])
    .description("print an entry: what it says, and the facts that follow from it")
    .argument("<logId>", "the ID that `postern logs list` shows")
    .action(async (logId: string, { json }: CommonOptions) => {
      const path = `/api/v1/logs/${encodeURIComponent(logId)}`;
      const log = await (await connect(context)).send({ method: "GET", path }, logDetailSchema);
      context.stdout(json ? `${printableJson(log)}\n` : `${detailText(log)}\n`);
    });
}

function addAddCommands(group: Command, context: CliContext): void {
  describe(group.command("add"), [
    'postern logs add "Decision: timeout = 30 s"',
    "git log -1 | postern logs add --title 'What was released'",
  ])
    .description(
      "remember a text, from the argument or standard input; lines `Decision: …` and `Remember: …` become facts",
    )
    .argument("[text...]", "what to remember")
    .option("--title <title>", "what it is about")
    .option("--session <id>", "the session that it belongs to")
    .action(async (words: readonly string[], { json, title, session: sessionId }: AddOptions) => {
      const content = words.length > 0 ? words.join(" ") : await readAll(context.stdin);
      const body = submitLogInputSchema.safeParse({
        content,
        ...(title && { title }),
        ...(sessionId && { sessionId }),
      });
      if (!body.success) throw new PosternError("usage", body.error.issues[0]?.message ?? "This cannot be remembered.");
      const log = await (await connect(context)).send(
        { method: "POST", path: "/api/v1/logs", body: body.data },
        logEntrySchema,
      );
      context.stdout(json ? `${printableJson(log)}\n` : `${plainLine(log.logId)}\n`);
    });

  describe(group.command("record"), ["postern logs record 0b0c…"])
    .description("remember a session's turns now, also those that were deleted from the memory before")
    .argument("<sessionId>", "its ID")
    .action(async (sessionId: string, { json }: CommonOptions) => {
      const path = `/api/v1/sessions/${encodeURIComponent(sessionId)}/record`;
      const recorded = await (await connect(context)).send({ method: "POST", path }, sessionRecordedSchema);
      if (json) return context.stdout(`${printableJson(recorded)}\n`);
      const { logIds, turns } = recorded;
      if (logIds.length === 0) return context.stderr("All of it was remembered already.\n");
      for (const logId of logIds) context.stdout(`${plainLine(logId)}\n`);
      return context.stderr(`Remembered ${count(turns, "turn")}.\n`);
    });
}

async function readAll(stdin: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of stdin) {
    sizeBytes += chunk.length;
    if (sizeBytes > 4 * maxLogCharacters) throw new PosternError("too_large", "This is more than an entry may hold.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function connect(context: CliContext): Promise<GatewayClient> {
  return createGatewayClient(await context.ports.socketPath());
}
