import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import {
  type CloseOutput,
  closeAllOutputSchema,
  closeOutputSchema,
  interruptOutputSchema,
  listAgentsOutputSchema,
  readOutputSchema,
} from "../wire/coding.ts";
import { addAnswerCommand } from "./answer-command.ts";
import { addAskCommand, addForkCommand } from "./ask-command.ts";
import { addCompareCommands } from "./compare-command.ts";
import { connect } from "./context.ts";
import { addDiffCommand } from "./diff-command.ts";
import { addExportCommand, addShareCommand } from "./export-command.ts";
import { isUnderWay } from "./follow-turn.ts";
import { addGitCommands } from "./git-command.ts";
import { addListCommand, addSearchCommand } from "./list-command.ts";
import { addNoteCommands } from "./notes-command.ts";
import { type CommonOptions, describe, wholeNumber } from "./options.ts";
import { count, plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { addQueueCommands } from "./queue-command.ts";
import { addReviewCommands } from "./review-command.ts";
import { sessionIdHelp } from "./session-id.ts";
import { addSetupCommand, agentTable } from "./setup-command.ts";
import { attentionText, lastScreenText, sessionLine, turnText } from "./turn-text.ts";

interface ReadOptions extends CommonOptions {
  readonly after?: number;
  readonly last?: number;
  readonly wait?: number;
}

interface CloseOptions extends CommonOptions {
  readonly discardWorktree?: true;
}

/** `postern coding …`: sessions with agents, through the running gateway. */
export function addCodingCommands(program: Command, context: CliContext): void {
  const group = program.command("coding").description("run and control agent sessions; set up agents");
  addAskCommand(group, context);
  addForkCommand(group, context);
  addCompareCommands(group, context);
  addReadCommand(group, context);
  addListCommand(group, context);
  addSearchCommand(group, context);
  addExportCommand(group, context);
  addShareCommand(group, context);
  addNoteCommands(group, context);
  addAnswerCommand(group, context);
  addInterruptCommand(group, context);
  addQueueCommands(group, context);
  addDiffCommand(group, context);
  addReviewCommands(group, context);
  addGitCommands(group, context);
  addCloseCommands(group, context);
  addAgentsCommand(group, context);
  addSetupCommand(group, context);
}

function addReadCommand(group: Command, context: CliContext): void {
  describe(group.command("read"), ["postern coding read 0b0c…", "postern coding read 0b0c… --last 2 --json"])
    .description("print a session's conversation")
    .argument("<sessionId>", sessionIdHelp)
    .option("--after <index>", "only turns after this index", wholeNumber(-1, Number.MAX_SAFE_INTEGER))
    .option("--last <count>", "only the newest turns", wholeNumber(1, 1000))
    .option("--wait <seconds>", "wait up to this long for something new", wholeNumber(0, 600))
    .action(async (sessionId: string, { json, wait, after, last }: ReadOptions) => {
      const input = {
        sessionId,
        ...(after !== undefined && { after }),
        ...(last !== undefined && { last }),
      };
      const gateway = await connect(context);
      const read = (more: object) => gateway.codingReadSession({ ...input, ...more }, { output: readOutputSchema });
      let output = await read({});
      if (wait !== undefined && isUnderWay(output)) {
        // Without `after`, a turn that ends between the two requests would not end the wait.
        await read({ after: after ?? output.nextAfter, last: 1, activity: output.activity, waitMs: wait * 1000 });
        output = await read({});
      }
      if (json) return context.stdout(`${printableJson(output)}\n`);
      if (output.turns.length > 0) context.stdout(`${output.turns.map(turnText).join("\n\n")}\n`);
      if (output.failure !== null) context.stdout(`${lastScreenText(output.failure.lastScreen)}\n`);
      const attention = attentionText(output);
      if (attention !== "") context.stdout(`${attention}\n`);
      return context.stderr(`${sessionLine(output)}\n`);
    });
}

function addCloseCommands(group: Command, context: CliContext): void {
  describe(group.command("close"), ["postern coding close 0b0c…", "postern coding close 0b0c… --discard-worktree"])
    .description(
      "stop a session's agent and remove its worktree; keeps the transcript, the branch and uncommitted work",
    )
    .argument("<sessionId>", sessionIdHelp)
    .option("--discard-worktree", "discard uncommitted work in the worktree")
    .action(async (sessionId: string, options: CloseOptions) => {
      const input = { sessionId, ...(options.discardWorktree && { discardWorktree: true }) };
      const output = await (await connect(context)).codingCloseSession(input, { output: closeOutputSchema });
      const text = `Closed ${plainLine(output.sessionId)}.\n${worktreeText(output)}`;
      context.stdout(options.json ? `${printableJson(output)}\n` : text);
    });

  describe(group.command("close-all"), ["postern coding close-all"])
    .description("stop the agents of all running sessions")
    .action(async (options: CommonOptions) => {
      const output = await (await connect(context)).codingCloseAll({}, { output: closeAllOutputSchema });
      if (options.json) context.stdout(`${printableJson(output)}\n`);
      else
        context.stdout(
          `Closed ${count(output.closed.length, "session")}.\n${output.closed.map(worktreeText).join("")}`,
        );
      failWhenLeft(output.failed);
    });
}

function addAgentsCommand(group: Command, context: CliContext): void {
  describe(group.command("agents"), ["postern coding agents", "postern coding agents --json"])
    .description("list configured agents, and agents found on this machine")
    .action(async (options: CommonOptions) => {
      const output = await (await connect(context)).codingListAgents({}, { output: listAgentsOutputSchema });
      context.stdout(`${options.json ? printableJson(output) : agentTable(output)}\n`);
    });
}

function failWhenLeft(failed: readonly { sessionId: string; code: string; detail: string }[]): void {
  const [first] = failed;
  if (first === undefined) return;
  throw new PosternError(
    first.code,
    `${count(failed.length, "session")} could not be closed: ${first.sessionId}: ${first.detail}`,
  );
}

/** `postern coding interrupt`: stops the running turn and keeps the session. */
function addInterruptCommand(group: Command, context: CliContext): void {
  describe(group.command("interrupt"), ["postern coding interrupt 0b0c…"])
    .description("stop a session's current turn. Denies its open permission requests; queued prompts are sent next")
    .argument("<sessionId>", sessionIdHelp)
    .action(async (sessionId: string, { json }: CommonOptions) => {
      const output = await (await connect(context)).codingInterrupt({ sessionId }, { output: interruptOutputSchema });
      const id = plainLine(output.sessionId);
      if (json) return context.stdout(`${printableJson(output)}\n`);
      return context.stdout(output.interrupted ? `Stopped the turn in ${id}.\n` : `No turn was running in ${id}.\n`);
    });
}

/** The outcome for a closed session's worktree; empty for a session without one. */
function worktreeText({ sessionId, worktree }: CloseOutput): string {
  if (worktree === null) return "";
  const { path, removed, reason, rescue, ignoredLost, branchKept } = worktree;
  const lines = removed
    ? [`Removed the worktree ${path}${branchKept === null ? "" : ` and kept its branch ${branchKept}`}.`]
    : [`Kept the worktree ${path}: ${reason ?? "it could not be removed"}`];
  if (rescue !== null) {
    lines.push(
      `${rescue.files} changed ${rescue.files === 1 ? "file was" : "files were"} saved as ${rescue.ref}. To restore: \`postern rescue restore ${sessionId}\``,
    );
  }
  if (removed && ignoredLost.count > 0) {
    const shown = ignoredLost.first20.slice(0, 5).join(", ");
    const more = ignoredLost.count > 5 ? ", …" : "";
    const files = count(ignoredLost.count, "ignored file");
    lines.push(`Deleted with it: ${files} (${ignoredLost.bytes} bytes): ${shown}${more}`);
  }
  return lines.map((line) => `${plainLine(line)}\n`).join("");
}
