import { type Command, InvalidArgumentError } from "commander";
import type { PosternClient } from "../client/index.ts";
import { PosternError } from "../core/errors.ts";
import {
  deletedCommentSchema,
  type ReviewComment,
  reviewCommentSchema,
  reviewCommentsSchema,
  reviewPromptSchema,
  sentReviewSchema,
} from "../wire/reviews.ts";
import { connect } from "./context.ts";
import { type CommonOptions, describe } from "./options.ts";
import { count, cutEnd, plainLine, plainText, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { sessionIdHelp } from "./session-id.ts";

const commentHelp = "comment ID, or its first characters (at least 4)";
const shownIdLength = 8;
const minPrefix = 4;
const shownTextLength = 60;

/** `postern coding review …`: comments on a session's changes. */
export function addReviewCommands(coding: Command, context: CliContext): void {
  const group = coding
    .command("review")
    .description("comment on a session's changes, and send the comments to its agent");
  addListCommand(group, context);
  addAddCommand(group, context);
  addEditCommands(group, context);
  addDeleteCommand(group, context);
  addSendCommands(group, context);
}

function addListCommand(group: Command, context: CliContext): void {
  describe(group.command("list"), ["postern coding review list 0b0c…", "postern coding review list last --json"])
    .description("list your comments on a session's changes")
    .argument("<sessionId>", sessionIdHelp)
    .action(async (sessionId: string, { json }: CommonOptions) => {
      const review = await (await connect(context)).listReviewComments({ sessionId }, { output: reviewCommentsSchema });
      if (json) return context.stdout(`${printableJson(review)}\n`);
      if (review.comments.length === 0) return context.stderr("No comments.\n");
      return context.stdout(`${commentTable(review.comments)}\n`);
    });
}

interface AddOptions extends CommonOptions {
  readonly old?: true;
}

function addAddCommand(group: Command, context: CliContext): void {
  describe(group.command("add"), [
    'postern coding review add 0b0c… src/cart.ts 12 "Use the rate of the country."',
    'postern coding review add 0b0c… src/cart.ts 12-20 "Simplify this."',
  ])
    .description("comment on lines of a changed file")
    .argument("<sessionId>", sessionIdHelp)
    .argument("<path>", "file, relative to the root of the worktree or repository")
    .argument("<lines>", "a line, or a range such as 12-20", lineRange)
    .argument("<text>", "the comment")
    .option("--old", "the line numbers are those of the old version")
    .action(async (sessionId: string, path: string, lines: LineRange, body: string, { json, old }: AddOptions) => {
      const input = { sessionId, path, ...lines, body, ...(old && { side: "old" as const }) };
      const comment = await (await connect(context)).addReviewComment(input, { output: reviewCommentSchema });
      if (json) return context.stdout(`${printableJson(comment)}\n`);
      return context.stdout(`Added comment ${shortId(comment)} on ${placeOf(comment)}.\n`);
    });
}

function addEditCommands(group: Command, context: CliContext): void {
  describe(group.command("edit"), ['postern coding review edit 0b0c… 3f2a "Use the rate of the country."'])
    .description("replace the text of a comment that has not been sent")
    .argument("<sessionId>", sessionIdHelp)
    .argument("<comment>", commentHelp)
    .argument("<text>", "the new text")
    .action((sessionId: string, comment: string, body: string, options: CommonOptions) =>
      edit(context, { sessionId, comment, change: { body } }, options, "Changed"),
    );
  describe(group.command("resolve"), ["postern coding review resolve 0b0c… 3f2a"])
    .description("mark a comment as resolved")
    .argument("<sessionId>", sessionIdHelp)
    .argument("<comment>", commentHelp)
    .action((sessionId: string, comment: string, options: CommonOptions) =>
      edit(context, { sessionId, comment, change: { state: "resolved" } }, options, "Resolved"),
    );
  describe(group.command("reopen"), ["postern coding review reopen 0b0c… 3f2a"])
    .description("reopen a comment so that it can be sent again")
    .argument("<sessionId>", sessionIdHelp)
    .argument("<comment>", commentHelp)
    .action((sessionId: string, comment: string, options: CommonOptions) =>
      edit(context, { sessionId, comment, change: { state: "open" } }, options, "Reopened"),
    );
}

async function edit(
  context: CliContext,
  given: {
    readonly sessionId: string;
    readonly comment: string;
    readonly change: { readonly body?: string; readonly state?: "open" | "resolved" };
  },
  { json }: CommonOptions,
  done: string,
): Promise<void> {
  const client = await connect(context);
  const { sessionId, change } = given;
  const commentId = await commentIdOf(client, sessionId, given.comment);
  const comment = await client.editReviewComment({ sessionId, commentId, ...change }, { output: reviewCommentSchema });
  if (json) return context.stdout(`${printableJson(comment)}\n`);
  return context.stdout(`${done} comment ${shortId(comment)} on ${placeOf(comment)}.\n`);
}

function addDeleteCommand(group: Command, context: CliContext): void {
  describe(group.command("delete"), ["postern coding review delete 0b0c… 3f2a"])
    .description("delete a comment and print it")
    .argument("<sessionId>", sessionIdHelp)
    .argument("<comment>", commentHelp)
    .action(async (sessionId: string, comment: string, { json }: CommonOptions) => {
      const client = await connect(context);
      const commentId = await commentIdOf(client, sessionId, comment);
      const answer = await client.deleteReviewComment({ sessionId, commentId }, { output: deletedCommentSchema });
      if (json) return context.stdout(`${printableJson(answer)}\n`);
      return context.stdout(`Deleted: ${plainLine(answer.deleted.body)}\n`);
    });
}

function addSendCommands(group: Command, context: CliContext): void {
  describe(group.command("preview"), ["postern coding review preview 0b0c…"])
    .description("print the prompt that `send` would send")
    .argument("<sessionId>", sessionIdHelp)
    .action(async (sessionId: string, { json }: CommonOptions) => {
      const preview = await (await connect(context)).previewReview({ sessionId }, { output: reviewPromptSchema });
      if (json) return context.stdout(`${printableJson(preview)}\n`);
      if (preview.prompt === "") return context.stderr("No open comments.\n");
      return context.stdout(`${plainText(preview.prompt)}\n`);
    });

  describe(group.command("send"), ["postern coding review send 0b0c…"])
    .description("send your open comments to the agent as one prompt")
    .argument("<sessionId>", sessionIdHelp)
    .action(async (sessionId: string, { json }: CommonOptions) => {
      const sent = await (await connect(context)).sendReview({ sessionId }, { output: sentReviewSchema });
      if (json) return context.stdout(`${printableJson(sent)}\n`);
      const id = plainLine(sent.sessionId);
      const left = sent.left === 0 ? "" : ` ${count(sent.left, "comment")} did not fit: run this again.`;
      return context.stdout(
        `Sent ${count(sent.commentIds.length, "comment")}.${left} Read the answer with \`postern coding read ${id}\`.\n`,
      );
    });
}

interface LineRange {
  readonly line: number;
  readonly endLine: number;
}

function lineRange(text: string): LineRange {
  const [, first, last = first] = /^([1-9]\d{0,7})(?:-([1-9]\d{0,7}))?$/.exec(text) ?? [];
  if (first === undefined) throw new InvalidArgumentError("Expected a line, or a range such as 12-20.");
  return { line: Number(first), endLine: Number(last) };
}

/** @throws PosternError `comment_not_found` */
async function commentIdOf(client: PosternClient, sessionId: string, given: string): Promise<string> {
  const { comments } = await client.listReviewComments({ sessionId }, { output: reviewCommentsSchema });
  const named = comments.filter(({ commentId }) => given.length >= minPrefix && commentId.startsWith(given));
  const [only] = named;
  if (only !== undefined && named.length === 1) return only.commentId;
  throw new PosternError(
    "comment_not_found",
    `"${plainLine(given)}" matches no comment. List them with \`postern coding review list ${plainLine(sessionId)}\`.`,
  );
}

function shortId({ commentId }: ReviewComment): string {
  return plainLine(commentId.slice(0, shownIdLength));
}

function placeOf({ path, line, endLine, outdated }: ReviewComment): string {
  const lines = line === endLine ? String(line) : `${line}-${endLine}`;
  return `${plainLine(path)}:${lines}${outdated ? " (outdated)" : ""}`;
}

function commentTable(comments: readonly ReviewComment[]): string {
  const rows = comments.map((comment) => [
    shortId(comment),
    comment.state,
    placeOf(comment),
    cutEnd(plainLine(comment.body), shownTextLength),
  ]);
  return table(["COMMENT", "STATE", "LINES", "TEXT"], rows);
}
