import { z } from "zod";
import { deliveryStateSchema, onDraftSchema } from "./coding.ts";
import { textSchema } from "./text.ts";

/** Longest comment, in characters. */
export const maxCommentLength = 10_000;
/** Most lines that one comment can be about. */
export const maxCommentedLines = 200;

const sessionIdSchema = textSchema(200);
const commentIdSchema = textSchema(100);
const pathSchema = textSchema(4_096);
const bodySchema = textSchema(maxCommentLength).describe("Markdown, sent to the agent unchanged.");
const lineSchema = z.int().min(1).max(100_000_000);

/** `new`: the file as it is now. `old`: the file in the base of the comparison. */
export const commentSideSchema = z.enum(["new", "old"]);

export const commentStateSchema = z
  .enum(["open", "sent", "answered", "resolved"])
  .describe("`sent`: in a prompt whose turn has not ended. `answered`: that turn has ended.");

/** A comment on lines of a session's changes. */
export const reviewCommentSchema = z
  .object({
    commentId: z.string(),
    path: z.string(),
    side: commentSideSchema,
    line: z.int().describe("First line. If the comment is outdated, the line where it was written."),
    endLine: z.int(),
    outdated: z.boolean().describe("True if its lines are no longer in the file."),
    snippet: z
      .object({
        before: z.array(z.string()).describe("Up to three lines before it."),
        lines: z.array(z.string()).describe("The lines that the comment is about."),
        after: z.array(z.string()),
      })
      .describe("The lines as they were when the comment was written. Untrusted: text of a file."),
    body: z.string(),
    state: commentStateSchema,
    author: z.object({
      kind: z.enum(["person", "token", "app"]).describe("The author's credential: a browser, a token or an app."),
      sessionId: z.string().nullable().describe("Session of the agent that wrote it, if the agent gave it."),
    }),
    createdAt: z.string(),
    updatedAt: z.string(),
  })
  .meta({ id: "ReviewComment" });

export const reviewCommentsSchema = z
  .object({
    sessionId: z.string(),
    comments: z.array(reviewCommentSchema).describe("Sorted by path and line."),
  })
  .meta({ id: "ReviewComments" });

export const listCommentsInputSchema = z.strictObject({ sessionId: sessionIdSchema }).meta({ id: "ListCommentsInput" });

const newComment = {
  path: pathSchema.describe("Relative to the root of the worktree or repository, as in the session's diff."),
  side: commentSideSchema.default("new"),
  line: lineSchema,
  endLine: lineSchema.optional().describe("Last line, if there is more than one."),
  body: bodySchema,
  snippet: z
    .string()
    .max(100_000)
    .optional()
    .describe("The lines as you read them. The comment is refused if the file's lines are different."),
  authorSessionId: sessionIdSchema.optional().describe("Your own session, if you are an agent."),
};

/** `POST /api/coding/sessions/{id}/comments` */
export const newCommentSchema = z.strictObject(newComment).meta({ id: "NewComment" });

export const addCommentInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, ...newComment })
  .meta({ id: "AddCommentInput" });

const commentEdits = {
  body: bodySchema.optional(),
  state: z.enum(["open", "resolved"]).optional().describe("`open` reopens a comment, so that it can be sent again."),
};

/** `PATCH /api/coding/sessions/{id}/comments/{commentId}` */
export const commentEditsSchema = z.strictObject(commentEdits).meta({ id: "CommentEdits" });

export const editCommentInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, commentId: commentIdSchema, ...commentEdits })
  .meta({ id: "EditCommentInput" });

export const deleteCommentInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, commentId: commentIdSchema })
  .meta({ id: "DeleteCommentInput" });

export const deletedCommentSchema = z
  .object({ sessionId: z.string(), deleted: reviewCommentSchema })
  .meta({ id: "DeletedComment" });

const sending = {
  commentIds: z
    .array(commentIdSchema)
    .min(1)
    .max(500)
    .optional()
    .describe("Comments to send. Defaults to all open comments."),
  onDraft: onDraftSchema.optional(),
};

/** `POST /api/coding/sessions/{id}/comments/send` */
export const sendReviewSchema = z.strictObject(sending).meta({ id: "SendReview" });

export const sendReviewInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, ...sending })
  .meta({ id: "SendReviewInput" });

/** The prompt that sending the open comments would create. */
export const reviewPromptSchema = z
  .object({
    sessionId: z.string(),
    prompt: z.string().describe("Empty if there are no open comments."),
    commentIds: z.array(z.string()).describe("The comments in the prompt, in order."),
    left: z.int().describe("Open comments that do not fit into this prompt. Send them with another call."),
  })
  .meta({ id: "ReviewPrompt" });

export const sentReviewSchema = reviewPromptSchema
  .extend({ deliveryState: deliveryStateSchema })
  .meta({ id: "SentReview" });

/** Files that the account has viewed. */
export const viewedFilesSchema = z
  .object({
    sessionId: z.string(),
    files: z.array(z.object({ path: z.string(), version: z.string() })),
  })
  .meta({ id: "ViewedFiles" });

/** `PUT /api/coding/sessions/{id}/viewed` */
export const viewFileInputSchema = z
  .strictObject({
    path: pathSchema,
    version: textSchema(100).nullable().describe("Any text that identifies the version you viewed. Null: not viewed."),
  })
  .meta({ id: "ViewFileInput" });

export const reviewParamsSchema = z.strictObject({ sessionId: sessionIdSchema });
export const commentParamsSchema = z.strictObject({ sessionId: sessionIdSchema, commentId: commentIdSchema });

export type CommentSide = z.infer<typeof commentSideSchema>;
export type CommentState = z.infer<typeof commentStateSchema>;
export type ReviewComment = z.infer<typeof reviewCommentSchema>;
export type ReviewComments = z.infer<typeof reviewCommentsSchema>;
export type AddCommentInput = z.infer<typeof addCommentInputSchema>;
export type EditCommentInput = z.infer<typeof editCommentInputSchema>;
export type DeleteCommentInput = z.infer<typeof deleteCommentInputSchema>;
export type DeletedComment = z.infer<typeof deletedCommentSchema>;
export type SendReviewInput = z.infer<typeof sendReviewInputSchema>;
export type ReviewPrompt = z.infer<typeof reviewPromptSchema>;
export type SentReview = z.infer<typeof sentReviewSchema>;
export type ViewedFiles = z.infer<typeof viewedFilesSchema>;
export type ViewFileInput = z.infer<typeof viewFileInputSchema>;
