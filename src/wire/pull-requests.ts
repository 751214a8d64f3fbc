import { z } from "zod";
import { gitStatusSchema } from "./publish.ts";
import { textSchema } from "./text.ts";

const sessionIdSchema = textSchema(200);

/** What a check of a pull request, or all of them, came to. */
export const checkStateSchema = z.enum(["pending", "passed", "failed", "skipped"]);

export const pullRequestCheckSchema = z.object({
  name: z.string().describe("Untrusted."),
  state: checkStateSchema,
  url: z.string().nullable().describe("Its page, `http` or `https`."),
  summary: z.string().nullable().describe("What the check says about its result. Untrusted."),
});

export const pullRequestCommentSchema = z.object({
  author: z.string().describe("Untrusted."),
  body: z.string().describe("Markdown, at most 10,000 characters. Untrusted."),
  path: z.string().nullable().describe("The file that it is about."),
  line: z.int().nullable(),
  url: z.string().nullable(),
  createdAt: z.string(),
});

export const pullRequestSchema = z
  .object({
    number: z.int(),
    url: z.string(),
    title: z.string().describe("Untrusted."),
    state: z.enum(["open", "merged", "closed"]),
    draft: z.boolean(),
    base: z.string().describe("The branch that it merges into."),
    head: z.string().describe("The session's branch."),
    headCommit: z.string().describe("The commit that checks and reviews are about."),
    merge: z
      .enum(["possible", "conflicts", "blocked", "unknown"])
      .describe("`blocked`: the forge requires checks or approvals. `unknown`: the forge has not found out yet."),
    review: z.enum(["approved", "changes_requested", "required"]).nullable(),
    checks: z.array(pullRequestCheckSchema).describe("At most 200."),
    checksState: checkStateSchema.nullable().describe("Null without checks."),
    comments: z.array(pullRequestCommentSchema).describe("The newest 200, oldest first."),
  })
  .meta({ id: "PullRequest" });

/** `GET /api/coding/sessions/{id}/git/pull-request` */
export const pullRequestStatusSchema = z
  .object({
    forge: z.object({ kind: z.enum(["github", "gitlab"]), host: z.string(), repository: z.string() }),
    pullRequest: pullRequestSchema.nullable().describe("That of the branch; null if there is none."),
    defaults: z
      .object({ title: z.string(), body: z.string(), base: z.string().nullable() })
      .nullable()
      .describe("What opening a pull request uses if nothing else is given. Null if the branch has an open one."),
    prompts: z
      .object({
        checks: z.string().nullable().describe("Asks the agent to repair the failed checks. Null if none failed."),
        comments: z.string().nullable().describe("Asks the agent to deal with the comments. Null without comments."),
      })
      .describe("Prompts for `coding_ask`. They quote the forge's texts as data."),
  })
  .meta({ id: "PullRequestStatus" });

export const pullRequestInputSchema = z.strictObject({ sessionId: sessionIdSchema }).meta({ id: "PullRequestInput" });

const opening = {
  title: textSchema(256).optional().describe("Default: the subject of the branch's first commit."),
  body: z.string().max(60_000).optional().describe("Markdown. Default: the messages of the branch's commits."),
  draft: z.boolean().optional(),
  base: textSchema(250).optional().describe("Default: the branch that the session's branch is updated from."),
};

/** `POST /api/coding/sessions/{id}/git/pull-request`: pushes nothing; the branch must have been pushed. */
export const openPullRequestSchema = z.strictObject(opening).meta({ id: "OpenPullRequest" });
export const openPullRequestInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, ...opening })
  .meta({ id: "OpenPullRequestInput" });

const merging = {
  method: z.enum(["merge", "squash", "rebase"]).optional().describe("Default: `merge`."),
  headCommit: textSchema(64).describe(
    "The commit that the caller saw. Merging fails if the branch has another one now.",
  ),
};

/** `POST /api/coding/sessions/{id}/git/merge` */
export const mergePullRequestSchema = z.strictObject(merging).meta({ id: "MergePullRequest" });
export const mergePullRequestInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, ...merging })
  .meta({ id: "MergePullRequestInput" });
export const mergedPullRequestSchema = z
  .object({ pullRequest: pullRequestSchema, status: gitStatusSchema })
  .meta({ id: "MergedPullRequest" });

export type CheckState = z.infer<typeof checkStateSchema>;
export type PullRequest = z.infer<typeof pullRequestSchema>;
export type PullRequestStatus = z.infer<typeof pullRequestStatusSchema>;
export type OpenPullRequestInput = z.infer<typeof openPullRequestInputSchema>;
export type MergePullRequestInput = z.infer<typeof mergePullRequestInputSchema>;
export type MergedPullRequest = z.infer<typeof mergedPullRequestSchema>;
