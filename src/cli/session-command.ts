import type { Command } from "commander";
import {
  rescueListOutputSchema,
  rescueRestoreOutputSchema,
  rescueSchema,
  rescueShowOutputSchema,
} from "../wire/rescue.ts";
import { forgottenTracesSchema, recordingInfoSchema } from "../wire/terminal.ts";
import { callTool, connect, requireConfirmation, saysYes } from "./context.ts";
import { type CommonOptions, describe } from "./options.ts";
import { count, plainLine, printableJson, sizeText, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface RestoreOptions extends CommonOptions {
  readonly force?: true;
}

/** `postern rescue …`: the work that removed worktrees would have taken with them. */
export function addRescueCommands(program: Command, context: CliContext): void {
  const group = program.command("rescue").description("get back work that was in a removed worktree");
  addListCommand(group, context);
  addShowCommand(group, context);
  addRestoreCommand(group, context);
  addDropCommand(group, context);
}

function addListCommand(group: Command, context: CliContext): void {
  describe(group.command("list"), ["postern rescue list"])
    .description("list the sessions whose worktree was removed with work in it, latest first")
    .action(async (options: CommonOptions) => {
      const output = await callTool(context, "rescue_list", { input: {}, output: rescueListOutputSchema });
      if (options.json) return context.stdout(`${printableJson(output)}\n`);
      if (output.rescues.length === 0) return context.stderr("Nothing was rescued.\n");
      const rows = output.rescues.map((rescue) =>
        [rescue.sessionId, rescue.rescuedAt, String(rescue.files), rescue.branch, rescue.repository].map(plainLine),
      );
      return context.stdout(`${table(["SESSION", "RESCUED", "FILES", "BRANCH", "REPOSITORY"], rows)}\n`);
    });
}

function addShowCommand(group: Command, context: CliContext): void {
  describe(group.command("show"), ["postern rescue show 0b0c…", "git show refs/postern/rescue/0b0c…"])
    .description("list the paths in a rescue; with git you see their content")
    .argument("<sessionId>", "the session that the worktree was made for")
    .action(async (sessionId: string, options: CommonOptions) => {
      const output = await callTool(context, "rescue_show", { input: { sessionId }, output: rescueShowOutputSchema });
      if (options.json) return context.stdout(`${printableJson(output)}\n`);
      for (const { path, change } of output.paths) context.stdout(`${change.padEnd(8)} ${plainLine(path)}\n`);
      const more = output.pathCount - output.paths.length;
      if (more > 0) context.stdout(`and ${more} more\n`);
      const repository = plainLine(output.repository);
      return context.stderr(
        `From ${plainLine(output.path)}, branch ${plainLine(output.branch)}, ${output.rescuedAt}.\nIts content: git -C ${JSON.stringify(repository)} show ${plainLine(output.ref)}\n`,
      );
    });
}

function addRestoreCommand(group: Command, context: CliContext): void {
  describe(group.command("restore"), ["postern rescue restore 0b0c…", "postern rescue restore 0b0c… --force"])
    .description("put a rescue into its session's worktree, which is made anew if it is gone; the rescue stays")
    .argument("<sessionId>", "the session that the worktree was made for")
    .option("--force", "overwrite files that were changed since")
    .action(async (sessionId: string, options: RestoreOptions) => {
      const input = { sessionId, ...(options.force && { force: true }) };
      const output = await callTool(context, "rescue_restore", { input, output: rescueRestoreOutputSchema });
      const line = `Restored ${output.restoredCount} files in ${plainLine(output.path)}.`;
      context.stdout(options.json ? `${printableJson(output)}\n` : `${line}\n`);
    });
}

function addDropCommand(group: Command, context: CliContext): void {
  describe(group.command("drop"), ["postern rescue drop 0b0c…"])
    .description("forget a rescue for good")
    .argument("<sessionId>", "the session that the worktree was made for")
    .action(async (sessionId: string, options: CommonOptions) => {
      const output = await callTool(context, "rescue_drop", { input: { sessionId }, output: rescueSchema });
      const line = `Dropped ${plainLine(output.ref)}, which was ${plainLine(output.commit)}.`;
      context.stdout(options.json ? `${printableJson(output)}\n` : `${line}\n`);
    });
}

interface ForgetOptions extends CommonOptions {
  readonly yes?: true;
}

/** `postern session …`: what Postern itself keeps of a session. */
export function addSessionCommands(program: Command, context: CliContext): void {
  const group = program.command("session").description("what the gateway itself keeps of a session");
  describe(group.command("forget"), ["postern session forget 0b0c…", "postern session forget 0b0c… --yes --json"])
    .description(
      "remove for good what the gateway keeps of a session: recordings of its terminals, what its hooks told, what waits of it in chats, and what the search knows of it until now; what the memory recorded stays (`postern logs purge --session` deletes that), and so does the agent's transcript, and with it the session in the list, without a title",
    )
    .argument("<sessionId>", "its ID; its agent must have ended")
    .option("--yes", "do not ask")
    .action(async (sessionId: string, options: ForgetOptions) => {
      requireConfirmation(options, context);
      const gateway = await connect(context);
      const session = `/api/coding/sessions/${encodeURIComponent(sessionId)}`;
      if (!options.yes) {
        const info = await gateway.send({ method: "GET", path: `${session}/recording/info` }, recordingInfoSchema);
        const sizeBytes = info.terminals.reduce((sum, terminal) => sum + terminal.sizeBytes, 0);
        context.stderr(
          `${recordingsText(info.terminals.length, sizeBytes)} of ${plainLine(sessionId)} would be gone for good, with what its hooks told and what waits of it in chats, and what was said until now would not be found any more, but for what the memory recorded (\`postern logs purge --session\` deletes that). Remove? [y/N] `,
        );
        if (!(await saysYes(context.stdin))) return context.stderr("Nothing was removed.\n");
      }
      const forgotten = await gateway.send({ method: "DELETE", path: `${session}/traces` }, forgottenTracesSchema);
      if (options.json) return context.stdout(`${printableJson(forgotten)}\n`);
      const { recordings, recordingBytes, sessionId: id, message } = forgotten;
      context.stdout(`Removed ${recordingsText(recordings, recordingBytes)} of ${plainLine(id)}.\n`);
      return context.stdout(`${plainLine(message)}\n`);
    });
}

function recordingsText(recordings: number, sizeBytes: number): string {
  return `${count(recordings, "recording")} (${sizeText(sizeBytes)})`;
}
