import { PosternError } from "../core/errors.ts";

/** Errors of attachments. */
export type AttachmentErrorCode =
  | "attachment_not_found"
  | "attachment_in_use"
  | "attachment_too_large"
  | "attachment_type_refused"
  | "invalid_request";

export function attachmentError(code: AttachmentErrorCode, message: string): PosternError<AttachmentErrorCode> {
  return new PosternError(code, message);
}

/** The same error for missing attachments and those of other accounts. */
export function attachmentNotFound(attachmentId: string): PosternError<AttachmentErrorCode> {
  return attachmentError(
    "attachment_not_found",
    `Attachment ${attachmentId} was not found. Files that no prompt uses are deleted after a day. Upload it again.`,
  );
}
