import { z } from "zod";
import type { CheckState, PullRequest } from "../wire/pull-requests.ts";
import { cut, maxChecks, newestComments, stateOfChecks, textLimits, webLink } from "./forge.ts";

/** The pull requests from a branch of this name, newest first. `commits`, to recognize those of the same work. */
export const findQuery = `query($owner: String!, $name: String!, $branch: String!) {
  repository(owner: $owner, name: $name) {
    pullRequests(headRefName: $branch, first: 20, orderBy: { field: CREATED_AT, direction: DESC }) {
      nodes {
        number state isCrossRepository headRepositoryOwner { login }
        commits(last: 100) { nodes { commit { oid } } }
      }
    }
  }
}`;

const checks = `contexts(first: 100, after: $after) {
  pageInfo { hasNextPage endCursor }
  nodes {
    kind: __typename
    ... on CheckRun {
      name status conclusion detailsUrl title summary
      annotations(last: 10) { nodes { path message location { start { line } } } }
    }
    ... on StatusContext { context state targetUrl description }
  }
}`;

export const readQuery = `query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      number url title state isDraft baseRefName headRefName headRefOid mergeable mergeStateStatus reviewDecision
      comments(last: 100) { nodes { author { login } body createdAt url isMinimized } }
      reviews(last: 100) { nodes { author { login } body createdAt url isMinimized } }
      reviewThreads(last: 100) {
        nodes {
          isResolved path line
          comments(last: 20) { nodes { author { login } body createdAt url isMinimized } }
        }
      }
      commits(last: 1) { nodes { commit { statusCheckRollup { state ${checks} } } } }
    }
  }
}`;

/** The next page of the checks. */
export const checksQuery = `query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      commits(last: 1) { nodes { commit { statusCheckRollup { state ${checks} } } } }
    }
  }
}`;

/** GraphQL lists have null for what the login cannot read. */
function nodesOf<Schema extends z.ZodType>(schema: Schema) {
  return z
    .object({ nodes: z.array(schema.nullable()).nullable() })
    .nullish()
    .transform((list) => (list?.nodes ?? []).flatMap((node) => (node === null ? [] : [node])));
}

const text = z.string().nullish();
const actor = z
  .object({ login: z.string() })
  .nullish()
  .transform((author) => author?.login ?? "ghost"); // GitHub's name for a deleted account

export const foundSchema = z.object({
  pullRequests: nodesOf(
    z.object({
      number: z.int(),
      state: z.string(),
      isCrossRepository: z.boolean(),
      headRepositoryOwner: z.object({ login: z.string() }).nullish(),
      commits: nodesOf(z.object({ commit: z.object({ oid: z.string() }) })),
    }),
  ),
});

const contextSchema = z.union([
  z.object({
    kind: z.literal("CheckRun"),
    name: z.string(),
    status: z.string(),
    conclusion: text,
    detailsUrl: text,
    title: text,
    summary: text,
    annotations: nodesOf(
      z.object({
        path: z.string(),
        message: z.string(),
        location: z.object({ start: z.object({ line: z.int() }).nullish() }).nullish(),
      }),
    ),
  }),
  z.object({
    kind: z.literal("StatusContext"),
    context: z.string(),
    state: z.string(),
    targetUrl: text,
    description: text,
  }),
]);

const checkCommits = nodesOf(
  z.object({
    commit: z.object({
      statusCheckRollup: z
        .object({
          state: z.string(),
          contexts: z.object({
            pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: text }),
            nodes: z
              .array(z.union([contextSchema, z.null()]))
              .nullable()
              .transform((nodes) => (nodes ?? []).flatMap((node) => (node === null ? [] : [node]))),
          }),
        })
        .nullish(),
    }),
  }),
).transform(([last]) => last?.commit.statusCheckRollup ?? null);

const commentNode = z.object({
  author: actor,
  body: z.string(),
  createdAt: z.string(),
  url: text,
  isMinimized: z.boolean().nullish(),
});

export const readSchema = z.object({
  pullRequest: z.object({
    number: z.int(),
    url: z.string(),
    title: z.string(),
    state: z.string(),
    isDraft: z.boolean(),
    baseRefName: z.string(),
    headRefName: z.string(),
    headRefOid: z.string(),
    mergeable: z.string(),
    mergeStateStatus: text,
    reviewDecision: text,
    comments: nodesOf(commentNode),
    reviews: nodesOf(commentNode),
    reviewThreads: nodesOf(
      z.object({
        isResolved: z.boolean(),
        path: z.string(),
        line: z.int().nullish(),
        comments: nodesOf(commentNode),
      }),
    ),
    commits: checkCommits,
  }),
});

export const checksSchema = z.object({
  pullRequest: z.object({ commits: checkCommits }),
});

export type GitHubRollup = z.infer<typeof checkCommits>;
type GitHubContext = z.infer<typeof contextSchema>;
type GitHubPullRequest = z.infer<typeof readSchema>["pullRequest"];

/** @param rollup the checks of all pages */
export function toPullRequest(given: GitHubPullRequest, rollup: GitHubRollup): PullRequest {
  const checkList = (rollup?.contexts.nodes ?? []).slice(0, maxChecks).map(toCheck);
  // The forge's sum counts also those beyond the limit.
  const failed = rollup?.state === "FAILURE" || rollup?.state === "ERROR";
  const { mergeStateStatus: mergeState } = given;
  return {
    number: given.number,
    url: given.url,
    title: cut(given.title, 1_000),
    state: given.state === "MERGED" ? "merged" : given.state === "OPEN" ? "open" : "closed",
    draft: given.isDraft,
    base: given.baseRefName,
    head: given.headRefName,
    headCommit: given.headRefOid,
    merge: mergeOf(given.mergeable, mergeState ?? "UNKNOWN"),
    review: reviewOf(given.reviewDecision),
    checks: checkList,
    checksState: failed ? "failed" : stateOfChecks(checkList),
    comments: newestComments(commentsOf(given)),
  };
}

function mergeOf(mergeable: string, state: string): PullRequest["merge"] {
  if (mergeable === "CONFLICTING" || state === "DIRTY") return "conflicts";
  if (state === "BLOCKED" || state === "BEHIND" || state === "DRAFT") return "blocked";
  return mergeable === "MERGEABLE" ? "possible" : "unknown";
}

function reviewOf(decision: string | null | undefined): PullRequest["review"] {
  if (decision === "APPROVED") return "approved";
  if (decision === "CHANGES_REQUESTED") return "changes_requested";
  return decision === "REVIEW_REQUIRED" ? "required" : null;
}

function toCheck(context: GitHubContext): PullRequest["checks"][number] {
  if (context.kind === "StatusContext") {
    return {
      name: cut(context.context, textLimits.name),
      state: stateWords[context.state] ?? "pending",
      url: webLink(context.targetUrl),
      summary: context.description ? cut(context.description, textLimits.summary) : null,
    };
  }
  const notes = context.annotations.map(
    ({ path, message, location }) => `${path}${location?.start ? `:${location.start.line}` : ""}: ${message}`,
  );
  const summary = [context.title, context.summary, ...notes].filter((part) => part).join("\n");
  return {
    name: cut(context.name, textLimits.name),
    state: context.status === "COMPLETED" ? (stateWords[context.conclusion ?? ""] ?? "pending") : "pending",
    url: webLink(context.detailsUrl),
    summary: summary === "" ? null : cut(summary, textLimits.summary),
  };
}

/** Conclusions of check runs, and states of commit statuses. Others, such as `STALE`, are pending, as for `gh`. */
const stateWords: Readonly<Record<string, CheckState>> = {
  SUCCESS: "passed",
  NEUTRAL: "skipped",
  SKIPPED: "skipped",
  FAILURE: "failed",
  ERROR: "failed",
  CANCELLED: "failed",
  TIMED_OUT: "failed",
  ACTION_REQUIRED: "failed",
  STARTUP_FAILURE: "failed",
};

/** Without what a person has hidden or marked as resolved, and without reviews that only hold comments on lines. */
function commentsOf({ comments, reviews, reviewThreads }: GitHubPullRequest): PullRequest["comments"] {
  const general = [...comments, ...reviews.filter(({ body }) => body.trim() !== "")].map((comment) => ({
    comment,
    path: null,
    line: null,
  }));
  const onLines = reviewThreads
    .filter(({ isResolved }) => !isResolved)
    .flatMap(({ path, line, comments: thread }) => thread.map((comment) => ({ comment, path, line: line ?? null })));
  return [...general, ...onLines]
    .filter(({ comment }) => comment.isMinimized !== true)
    .map(({ comment, path, line }) => ({
      author: cut(comment.author, textLimits.name),
      body: cut(comment.body, textLimits.body),
      path,
      line,
      url: webLink(comment.url),
      createdAt: comment.createdAt,
    }));
}
