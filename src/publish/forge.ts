import type { PullRequest } from "../wire/pull-requests.ts";

/** The branch of a pull request, and the repository that the request is made to. */
export interface ForgeBranch {
  /** The owner of the repository that the branch is pushed to; null if it is the one that the request is made to. */
  readonly forkOf: string | null;
  readonly branch: string;
  /** The commit that the session has. */
  readonly commit: string | null;
}

export interface OpenRequest {
  readonly title: string;
  readonly body: string;
  readonly draft: boolean;
  readonly base: string;
}

export type MergeMethod = "merge" | "squash" | "rebase";

/**
 * A repository on a forge, spoken to with the user's login. Every function throws PosternError `forge_not_available` | `forge_failed`, in
 * addition to the codes in its comment.
 */
export interface Forge {
  readonly kind: "github" | "gitlab";
  readonly host: string;
  /** For example `owner/name`. */
  readonly repository: string;
  /** The open pull request of the branch, or else the closed or merged one that contains its commit. */
  find(head: ForgeBranch): Promise<number | null>;
  read(number: number): Promise<PullRequest>;
  /** @throws PosternError `pull_request_exists` */
  open(head: ForgeBranch, request: OpenRequest): Promise<number>;
  /** @throws PosternError `merge_rejected` | `pull_request_changed` */
  merge(number: number, options: { readonly method: MergeMethod; readonly headCommit: string }): Promise<void>;
}

/** Limits for texts of a forge, in characters. The comment's is part of the schema. */
export const textLimits = { body: 10_000, summary: 4_000, name: 300 } as const;
export const maxChecks = 200;
export const maxComments = 200;

/** A link to a page; null for any other scheme. */
export function webLink(url: string | null | undefined): string | null {
  const parsed = url ? URL.parse(url) : null;
  return parsed?.protocol === "https:" || parsed?.protocol === "http:" ? parsed.href : null;
}

export function cut(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}

/** What all checks together came to. */
export function stateOfChecks(checks: PullRequest["checks"]): PullRequest["checksState"] {
  for (const state of ["failed", "pending", "passed", "skipped"] as const) {
    if (checks.some((check) => check.state === state)) return state;
  }
  return null;
}

/** The newest comments, oldest first. */
export function newestComments(comments: PullRequest["comments"]): PullRequest["comments"] {
  return comments.toSorted((one, other) => Date.parse(one.createdAt) - Date.parse(other.createdAt)).slice(-maxComments);
}
