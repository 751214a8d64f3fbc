import { type Command, InvalidArgumentError } from "commander";
import type { PosternClient } from "../client/index.ts";
import { isPosternError, PosternError } from "../core/errors.ts";
import {
  type DeletionPreview,
  deletionPreviewSchema,
  type LogPage,
  logDeletionSchema,
  logDetailSchema,
  logPageSchema,
  sessionLogDeletionSchema,
} from "../wire/logs.ts";
import { connect, requireConfirmation, saysYes } from "./context.ts";
import { type CommonOptions, describe } from "./options.ts";
import { count, plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface DeleteOptions extends CommonOptions {
  readonly yes?: true;
}

interface PurgeOptions extends DeleteOptions {
  readonly session?: string;
  /** Epoch milliseconds. */
  readonly before?: number;
  readonly all?: true;
}

/** Maximum entries deleted in one run; another run deletes more. */
const maxPurged = 100_000;
const pageSize = 200;

/** `postern memory delete|purge`. */
export function addForgetCommands(group: Command, context: CliContext): void {
  describe(group.command("delete"), ["postern memory delete 0198…", "postern memory delete 0198… --yes --json"])
    .description("show what would be deleted, then permanently delete an entry and everything derived only from it")
    .argument("<logId>", "the ID that `postern memory list` shows")
    .option("--yes", "skip the confirmation")
    .action((logId: string, options: DeleteOptions) => deleteOne(logId, { options, context }));

  describe(group.command("purge"), [
    "postern memory purge --session 0b0c…",
    "postern memory purge --before 2026-01-01",
    "postern memory purge --all --yes",
  ])
    .description(
      "permanently delete all entries of a session, from before a time, or of your account. Backups keep them, and pre-upgrade copies keep them for up to 30 days",
    )
    .option("--session <id>", "all entries of this session")
    .option("--before <time>", "entries from before this date or time (ISO 8601)", moment)
    .option("--all", "all")
    .option("--yes", "skip the confirmation")
    .action(async (options: PurgeOptions) => {
      const { session, before, all } = options;
      if ([session, before, all].filter((given) => given !== undefined).length !== 1) {
        throw new PosternError("usage", "Choose what to delete: --session <id>, --before <time>, or --all.");
      }
      requireConfirmation(options, context);
      const gateway = await connect(context);
      return purge(gateway, { options, context });
    });
}

interface Run<Options> {
  readonly options: Options;
  readonly context: CliContext;
}

async function deleteOne(logId: string, { options, context }: Run<DeleteOptions>): Promise<void> {
  requireConfirmation(options, context);
  const gateway = await connect(context);
  if (!options.yes) {
    const preview = await gateway.previewLogDeletion({ logId }, { output: deletionPreviewSchema });
    const { title, observedAt } = await gateway.readLog({ logId }, { output: logDetailSchema });
    const what = `${plainLine(title ?? "(no title)")}, ${observedAt}`;
    context.stderr(`${what}\nThe entry with ${previewText(preview)}\nDelete? [y/N] `);
    if (!(await saysYes(context.stdin))) return context.stderr("Nothing was deleted.\n");
  }
  const deletion = await gateway.deleteLog({ logId, id: logId }, { output: logDeletionSchema });
  context.stdout(options.json ? `${printableJson(deletion)}\n` : `${plainLine(deletion.message)}\n`);
}

async function purge(gateway: PosternClient, { options, context }: Run<PurgeOptions>): Promise<void> {
  const logIds = await idsOf(gateway, options);
  if (!options.yes) {
    if (logIds.length === 0) return context.stderr("Nothing to delete.\n");
    const many = logIds.length === maxPurged ? ", the newest of them," : "";
    // Uses the expanded ID, because the typed ID can be a prefix.
    const of = options.session === undefined ? "" : ` of session ${plainLine(options.session)}`;
    const what = `${count(logIds.length, "entry", "entries")}${of}${many}`;
    context.stderr(`${what} will be permanently deleted. Delete? [y/N] `);
    if (!(await saysYes(context.stdin))) return context.stderr("Nothing was deleted.\n");
  }
  if (options.session !== undefined && logIds.length > 0) {
    const input = { sessionId: options.session, confirm: "true" } as const;
    const { message, deleted } = await gateway.deleteSessionLogs(input, { output: sessionLogDeletionSchema });
    return context.stdout(options.json ? `${printableJson({ deleted: deleted.logs })}\n` : `${plainLine(message)}\n`);
  }
  const { deleted, facts, isPending } = await deleteEach(gateway, { logIds, context, quiet: options.json === true });
  if (options.json) return context.stdout(`${printableJson({ deleted })}\n`);
  context.stdout(`Deleted ${count(deleted, "entry", "entries")} with ${count(facts, "fact")}.\n`);
  if (isPending) context.stderr("They are not erased from the database file yet, because it is being read.\n");
  if (logIds.length === maxPurged) context.stderr("There may be more: run it again.\n");
}

async function idsOf(gateway: PosternClient, { session, before }: PurgeOptions): Promise<readonly string[]> {
  const logIds: string[] = [];
  let cursor: string | undefined;
  do {
    const input = { sessionId: session, limit: pageSize, cursor };
    const { logs, nextCursor }: LogPage = await gateway.listLogs(input, { output: logPageSchema });
    const wanted = logs.filter(({ observedAt }) => before === undefined || Date.parse(observedAt) < before);
    logIds.push(...wanted.map(({ logId }) => logId));
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined && logIds.length < maxPurged);
  return logIds.slice(0, maxPurged);
}

async function deleteEach(
  gateway: PosternClient,
  run: { readonly logIds: readonly string[]; readonly context: CliContext; readonly quiet: boolean },
): Promise<{ readonly deleted: number; readonly facts: number; readonly isPending: boolean }> {
  const { logIds, context } = run;
  const showsProgress = context.interactive && !run.quiet;
  let [deleted, facts, isPending] = [0, 0, false];
  for (const [at, id] of logIds.entries()) {
    try {
      const deletion = await gateway.deleteLog({ logId: id, id }, { output: logDeletionSchema });
      deleted += 1;
      facts += deletion.deleted.facts;
      isPending = deletion.message.includes("pending");
    } catch (error) {
      // Already deleted by another caller.
      if (!isPosternError(error) || error.code !== "log_not_found") throw error;
    }
    if (showsProgress && (at + 1) % 10 === 0) context.stderr(`\r${at + 1} of ${logIds.length}`);
  }
  if (showsProgress && logIds.length >= 10) context.stderr("\r\u001b[K");
  return { deleted, facts, isPending };
}

/** What a deletion removes and keeps. */
function previewText({ removed, shared }: DeletionPreview): string {
  const { facts, statements, entities } = removed;
  const gone = `${count(facts, "fact")}, ${count(statements, "statement")} and ${count(entities, "entity", "entities")} will be permanently deleted.`;
  if (shared.statements + shared.entities === 0) return gone;
  return `${gone} ${count(shared.statements, "statement")} and ${count(shared.entities, "entity", "entities")} stay, because other entries share them.`;
}

/** Parses a date (its first moment, UTC) or a time. */
function moment(text: string): number {
  const epochMs = Date.parse(text);
  if (/^\d{4}-\d{2}-\d{2}(T.+)?$/.test(text) && !Number.isNaN(epochMs)) return epochMs;
  throw new InvalidArgumentError("Use 2026-01-31 or 2026-01-31T12:00:00Z.");
}
