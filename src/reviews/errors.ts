import { PosternError } from "../core/errors.ts";

/** Codes that this capability throws, in addition to those of its ports. */
export type ReviewErrorCode =
  | "invalid_request"
  | "too_large"
  | "comment_not_found"
  | "comment_text_changed"
  | "comment_already_sent"
  | "nothing_to_send";

export function notFound(commentId: string, sessionId: string) {
  return reviewError(
    "comment_not_found",
    `Session ${sessionId} has no comment ${commentId} of this account. List them with \`postern coding review list ${sessionId}\`.`,
  );
}

export function reviewError(code: ReviewErrorCode, message: string): PosternError<ReviewErrorCode> {
  return new PosternError(code, message);
}
