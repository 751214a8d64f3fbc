import { PosternError } from "../core/errors.ts";

/** Codes that this capability throws, besides those of its ports. */
export type PublishErrorCode =
  | "invalid_request"
  | "dir_not_allowed"
  | "not_a_git_repository"
  | "agent_working"
  | "changes_outdated"
  | "nothing_to_commit"
  | "uncommitted_changes"
  | "update_conflict"
  | "update_in_progress"
  | "no_update_in_progress"
  | "push_rejected"
  | "git_failed"
  | "forge_not_available"
  | "forge_failed"
  | "branch_not_pushed"
  | "pull_request_exists"
  | "pull_request_not_found"
  | "pull_request_changed"
  | "merge_rejected";

export function publishError(
  code: PublishErrorCode,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): PosternError<PublishErrorCode> {
  return new PosternError(code, message, { details });
}
