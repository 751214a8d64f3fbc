import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import {
  type EditSessionOutput,
  editSessionOutputSchema,
  labelListSchema,
  type SessionEdits,
} from "../wire/session-notes.ts";
import { connect } from "./context.ts";
import { type CommonOptions, describe } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { sessionIdHelp } from "./session-id.ts";

interface UndoOptions extends CommonOptions {
  readonly undo?: true;
}

interface LabelOptions extends CommonOptions {
  readonly remove?: true;
}

/** `postern coding rename|pin|archive|label|labels`: how sessions appear in lists. */
export function addNoteCommands(group: Command, context: CliContext): void {
  addRenameCommand(group, context);
  addMarkCommands(group, context);
  addLabelCommands(group, context);
}

function addRenameCommand(group: Command, context: CliContext): void {
  describe(group.command("rename"), [
    "postern coding rename 0b0c… Fix the flaky login test",
    "postern coding rename last --undo",
  ])
    .description("change a session's title for everyone who can see the session; the agent does not see it")
    .argument("<sessionId>", sessionIdHelp)
    .argument("[title...]", "the new title")
    .option("--undo", "show the agent's title again")
    .action(async (sessionId: string, words: readonly string[], options: UndoOptions) => {
      const title = options.undo ? null : words.join(" ");
      if ((words.length === 0) !== (options.undo === true)) {
        throw new PosternError("usage", "Give either the new title, or --undo for the agent's title.");
      }
      const session = await edit(sessionId, { title }, context);
      print(session, { options, context, text: `The title of ${session.sessionId} is: ${session.title ?? "(none)"}` });
    });
}

function addMarkCommands(group: Command, context: CliContext): void {
  describe(group.command("pin"), ["postern coding pin 0b0c…", "postern coding pin 0b0c… --undo"])
    .description("pin a session to the top of the list in the web application")
    .argument("<sessionId>", sessionIdHelp)
    .option("--undo", "unpin it")
    .action(async (sessionId: string, options: UndoOptions) => {
      const session = await edit(sessionId, { pinned: options.undo !== true }, context);
      print(session, { options, context, text: `${session.pinned ? "Pinned" : "Unpinned"} ${session.sessionId}.` });
    });

  describe(group.command("archive"), ["postern coding archive 0b0c…", "postern coding archive 0b0c… --undo"])
    .description("hide a session from lists, unless its agent needs an answer. `list --archived` shows it")
    .argument("<sessionId>", sessionIdHelp)
    .option("--undo", "show it in lists again")
    .action(async (sessionId: string, options: UndoOptions) => {
      const session = await edit(sessionId, { archived: options.undo !== true }, context);
      const text = session.archived ? `Archived ${session.sessionId}.` : `Unarchived ${session.sessionId}.`;
      print(session, { options, context, text });
    });
}

function addLabelCommands(group: Command, context: CliContext): void {
  describe(group.command("label"), [
    "postern coding label 0b0c… urgent 'needs review'",
    "postern coding label 0b0c… urgent --remove",
    "postern coding list --label urgent",
  ])
    .description("add labels to a session, or remove them")
    .argument("<sessionId>", sessionIdHelp)
    .argument("<labels...>", "up to 20 labels of up to 50 characters, ignoring case")
    .option("--remove", "remove these labels")
    .action(async (sessionId: string, labels: readonly string[], options: LabelOptions) => {
      const edits = options.remove ? { removeLabels: [...labels] } : { addLabels: [...labels] };
      const session = await edit(sessionId, edits, context);
      const text = session.labels.length === 0 ? "has no labels." : `has the labels: ${session.labels.join(", ")}`;
      print(session, { options, context, text: `${session.sessionId} ${text}` });
    });

  describe(group.command("labels"), ["postern coding labels"])
    .description("list all labels and the number of sessions with each")
    .action(async (options: CommonOptions) => {
      const output = await (await connect(context)).listLabels({}, { output: labelListSchema });
      if (options.json) return context.stdout(`${printableJson(output)}\n`);
      if (output.labels.length === 0) return context.stderr("No labels.\n");
      const rows = output.labels.map(({ label, sessions }) => [plainLine(label), String(sessions)]);
      return context.stdout(`${table(["LABEL", "SESSIONS"], rows)}\n`);
    });
}

async function edit(sessionId: string, edits: SessionEdits, context: CliContext): Promise<EditSessionOutput> {
  return (await connect(context)).editSession({ sessionId, ...edits }, { output: editSessionOutputSchema });
}

function print(
  session: EditSessionOutput,
  { options, context, text }: { readonly options: CommonOptions; readonly context: CliContext; readonly text: string },
): void {
  context.stdout(options.json ? `${printableJson(session)}\n` : `${plainLine(text)}\n`);
}
