import type { Command } from "commander";
import { shellWord } from "../core/shell-word.ts";
import {
  rescueListOutputSchema,
  rescueRestoreOutputSchema,
  rescueSchema,
  rescueShowOutputSchema,
} from "../wire/changes.ts";
import { type KeepOutput, keepOutputSchema } from "../wire/coding.ts";
import { forgottenTracesSchema, recordingInfoSchema } from "../wire/terminal.ts";
import { connect, requireConfirmation, saysYes } from "./context.ts";
import { type CommonOptions, describe } from "./options.ts";
import { count, plainLine, printableJson, sizeText, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { sessionIdHelp } from "./session-id.ts";

interface RestoreOptions extends CommonOptions {
  readonly force?: true;
}

/** `postern rescue …`: backup commits of uncommitted work in removed worktrees. */
export function addRescueCommands(program: Command, context: CliContext): void {
  const group = program.command("rescue").description("recover uncommitted work from removed worktrees");
  addListCommand(group, context);
  addShowCommand(group, context);
  addRestoreCommand(group, context);
  addDropCommand(group, context);
}

function addListCommand(group: Command, context: CliContext): void {
  describe(group.command("list"), ["postern rescue list"])
    .description("list sessions whose worktree was removed with uncommitted work, latest first")
    .action(async (options: CommonOptions) => {
      const output = await (await connect(context)).rescueList({}, { output: rescueListOutputSchema });
      if (options.json) return context.stdout(`${printableJson(output)}\n`);
      if (output.rescues.length === 0) return context.stderr("No rescues.\n");
      const rows = output.rescues.map((rescue) =>
        [rescue.sessionId, rescue.rescuedAt, String(rescue.files), rescue.branch, rescue.repository].map(plainLine),
      );
      return context.stdout(`${table(["SESSION", "RESCUED", "FILES", "BRANCH", "REPOSITORY"], rows)}\n`);
    });
}

function addShowCommand(group: Command, context: CliContext): void {
  describe(group.command("show"), ["postern rescue show 0b0c…", "git show refs/postern/rescue/0b0c…"])
    .description("list the files in a rescue")
    .argument("<sessionId>", `${sessionIdHelp}: the session that the worktree was created for`)
    .action(async (sessionId: string, options: CommonOptions) => {
      const output = await (await connect(context)).rescueShow({ sessionId }, { output: rescueShowOutputSchema });
      if (options.json) return context.stdout(`${printableJson(output)}\n`);
      for (const { path, change } of output.paths) context.stdout(`${change.padEnd(8)} ${plainLine(path)}\n`);
      const more = output.pathCount - output.paths.length;
      if (more > 0) context.stdout(`and ${more} more\n`);
      const repository = plainLine(shellWord(output.repository));
      return context.stderr(
        `From ${plainLine(output.path)}, branch ${plainLine(output.branch)}, ${output.rescuedAt}.\nShow the content: git -C ${repository} show ${plainLine(output.ref)}\n`,
      );
    });
}

function addRestoreCommand(group: Command, context: CliContext): void {
  describe(group.command("restore"), ["postern rescue restore 0b0c…", "postern rescue restore 0b0c… --force"])
    .description("restore a rescue into its session's worktree, creating the worktree if needed; keeps the rescue")
    .argument("<sessionId>", `${sessionIdHelp}: the session that the worktree was created for`)
    .option("--force", "overwrite files that have changed since")
    .action(async (sessionId: string, options: RestoreOptions) => {
      const input = { sessionId, ...(options.force && { force: true }) };
      const output = await (await connect(context)).rescueRestore(input, { output: rescueRestoreOutputSchema });
      const line = `Restored ${count(output.restoredCount, "file")} in ${plainLine(output.path)}.`;
      context.stdout(options.json ? `${printableJson(output)}\n` : `${line}\n`);
    });
}

function addDropCommand(group: Command, context: CliContext): void {
  describe(group.command("drop"), ["postern rescue drop 0b0c…"])
    .description("permanently delete a rescue")
    .argument("<sessionId>", `${sessionIdHelp}: the session that the worktree was created for`)
    .action(async (sessionId: string, options: CommonOptions) => {
      const output = await (await connect(context)).rescueDrop({ sessionId }, { output: rescueSchema });
      const line = `Deleted ${plainLine(output.ref)} (was ${plainLine(output.commit)}).`;
      context.stdout(options.json ? `${printableJson(output)}\n` : `${line}\n`);
    });
}

interface KeepOptions extends CommonOptions {
  readonly off?: true;
}

function addKeepCommand(group: Command, context: CliContext): void {
  describe(group.command("keep"), ["postern session keep 0b0c…", "postern session keep 0b0c… --off"])
    .description(
      "keep a session's agent running even when it is idle. Other agents are ended after idleTimeout (12 hours by default); their sessions can be resumed",
    )
    .argument("<sessionId>", "session ID")
    .option("--off", "end the agent after idleTimeout again")
    .action(async (sessionId: string, options: KeepOptions) => {
      const input = { sessionId, keepRunning: options.off !== true };
      const session = await (await connect(context)).codingKeepSession(input, { output: keepOutputSchema });
      return context.stdout(options.json ? `${printableJson(session)}\n` : `${plainLine(keepWords(session))}\n`);
    });
}

function keepWords({ sessionId, agent, keepRunning, status, idleEndsAt }: KeepOutput): string {
  if (keepRunning) {
    const now = status === "completed" || status === "failed" ? " from its next prompt on" : "";
    return `The agent of ${sessionId} (${agent}) keeps running${now}, even when it is idle.`;
  }
  const when = idleEndsAt === null ? "when it has been idle for too long" : `at ${idleEndsAt} if it stays idle`;
  return `The agent of ${sessionId} (${agent}) is ended ${when}. The session can be resumed.`;
}

interface ForgetOptions extends CommonOptions {
  readonly yes?: true;
}

/** `postern session …`: whether its agent keeps running, and the data that Postern keeps about it. */
export function addSessionCommands(program: Command, context: CliContext): void {
  const group = program.command("session").description("manage a session's agent and stored data");
  addKeepCommand(group, context);
  describe(group.command("forget"), ["postern session forget 0b0c…", "postern session forget 0b0c… --yes --json"])
    .description(
      "permanently delete the data that the gateway stores about a session: terminal recordings, hook reports, pending chat messages and the search index. Keeps the agent's transcript, so the session is still listed, without a title. Also keeps memory: delete it with `postern memory purge --session`",
    )
    .argument("<sessionId>", `${sessionIdHelp}; its agent must have exited`)
    .option("--yes", "skip the confirmation")
    .action(async (sessionId: string, options: ForgetOptions) => {
      requireConfirmation(options, context);
      const gateway = await connect(context);
      if (!options.yes) {
        const info = await gateway.getRecordingInfo({ sessionId }, { output: recordingInfoSchema });
        const sizeBytes = info.terminals.reduce((sum, terminal) => sum + terminal.sizeBytes, 0);
        context.stderr(
          `${recordingsText(info.terminals.length, sizeBytes)} of ${plainLine(sessionId)} will be permanently deleted, with its hook reports, pending chat messages and search index. Memory is kept (\`postern memory purge --session\` deletes it). Delete? [y/N] `,
        );
        if (!(await saysYes(context.stdin))) return context.stderr("Nothing was deleted.\n");
      }
      const forgotten = await gateway.forgetSession({ sessionId }, { output: forgottenTracesSchema });
      if (options.json) return context.stdout(`${printableJson(forgotten)}\n`);
      const { recordings, recordingBytes, sessionId: id, message } = forgotten;
      context.stdout(`Deleted ${recordingsText(recordings, recordingBytes)} of ${plainLine(id)}.\n`);
      return context.stdout(`${plainLine(message)}\n`);
    });
}

function recordingsText(recordings: number, sizeBytes: number): string {
  return `${count(recordings, "recording")} (${sizeText(sizeBytes)})`;
}
