import { type Command, Option } from "commander";
import { PosternError } from "../core/errors.ts";
import { gitStatusSchema } from "../wire/publish.ts";
import {
  mergedPullRequestSchema,
  type OpenPullRequestInput,
  type PullRequest,
  type PullRequestStatus,
  pullRequestStatusSchema,
} from "../wire/pull-requests.ts";
import { connect } from "./context.ts";
import { type CommonOptions, describe } from "./options.ts";
import { count, plainLine, plainText, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { sessionIdHelp } from "./session-id.ts";

/** Several requests to the forge, each of which can take a minute. */
const forgeMs = 300_000;

interface PrOptions extends CommonOptions, Omit<OpenPullRequestInput, "sessionId"> {
  readonly open?: true;
}

/** `postern coding git pr` and `merge`. */
export function addPullRequestCommands(group: Command, context: CliContext): void {
  describe(group.command("pr"), [
    "postern coding git pr 0b0c…",
    "postern coding git pr 0b0c… --open",
    'postern coding git pr 0b0c… --open --title "Fix the retry" --draft',
  ])
    .description("show the pull request of the session's branch, or open one")
    .argument("<sessionId>", sessionIdHelp)
    .option("--open", "open one; push the branch first")
    .option("--title <text>", "with --open (default: the subject of the branch's first commit)")
    .option("--body <markdown>", "with --open (default: the messages of the branch's commits)")
    .option("--base <branch>", "with --open: the branch to merge into (default: the base branch)")
    .option("--draft", "with --open: as a draft")
    .action(async (sessionId: string, { json, open, ...given }: PrOptions) => {
      if (!open && Object.keys(given).length > 0)
        throw new PosternError("usage", "--title, --body, --base and --draft need --open.");
      const client = await connect(context);
      const options = { output: pullRequestStatusSchema, timeoutMs: forgeMs };
      const status = open
        ? await client.gitOpenPullRequest({ sessionId, ...given }, options)
        : await client.gitPullRequest({ sessionId }, options);
      context.stdout(json ? `${printableJson(status)}\n` : `${statusText(status)}\n`);
    });

  describe(group.command("merge"), ["postern coding git merge 0b0c…", "postern coding git merge 0b0c… --method squash"])
    .description("merge the pull request of the session's branch")
    .argument("<sessionId>", sessionIdHelp)
    .addOption(new Option("--method <method>", "how (default: merge)").choices(["merge", "squash", "rebase"]))
    .option("--commit <id>", "the commit that it must have (default: the session's newest)")
    .action(async (sessionId: string, { json, method, commit }: MergeOptions) => {
      const client = await connect(context);
      const headCommit = commit ?? (await client.gitStatus({ sessionId }, { output: gitStatusSchema })).head?.commit;
      if (headCommit === undefined) throw new PosternError("usage", "The session's branch has no commits.");
      const merged = await client.gitMerge(
        { sessionId, headCommit, ...(method && { method }) },
        { output: mergedPullRequestSchema, timeoutMs: forgeMs },
      );
      if (json) return context.stdout(`${printableJson(merged)}\n`);
      const { number, base, url } = merged.pullRequest;
      return context.stdout(`Merged #${number} into ${plainLine(base)}. ${plainLine(url)}\n`);
    });
}

interface MergeOptions extends CommonOptions {
  readonly method?: "merge" | "squash" | "rebase";
  readonly commit?: string;
}

function statusText({ forge, pullRequest }: PullRequestStatus): string {
  if (pullRequest === null) {
    return `No pull request in ${plainLine(forge.repository)} (${plainLine(forge.host)}). Open one with \`postern coding git pr --open\`.`;
  }
  const { number, title, state, draft, base, head, url, checks, comments } = pullRequest;
  return [
    `#${number} ${plainLine(title)}`,
    `${draft && state === "open" ? "draft" : state}, ${plainLine(head)} into ${plainLine(base)}${stateText(pullRequest)}`,
    plainLine(url),
    ...(checks.length === 0 ? [] : ["Checks:"]),
    ...checks.map((check) => `  ${check.state.padEnd(9)}${plainLine(check.name)}`),
    ...(comments.length === 0 ? [] : [`${count(comments.length, "comment")}:`]),
    ...comments.map(({ author, body, path, line }) => {
      const place = path === null ? "" : ` on ${plainLine(path)}${line === null ? "" : `:${line}`}`;
      const lines = plainText(body).trimEnd().split("\n");
      return [`  ${plainLine(author)}${place}:`, ...lines.map((text) => `    ${text}`)].join("\n");
    }),
  ].join("\n");
}

function stateText({ state, merge, review }: PullRequest): string {
  if (state !== "open") return "";
  const words = {
    possible: ", can be merged",
    conflicts: ", has conflicts",
    blocked: ", needs checks or approvals",
    unknown: "",
  } as const;
  const reviews = {
    approved: ", approved",
    changes_requested: ", changes requested",
    required: ", review required",
  } as const;
  return `${words[merge]}${review === null ? "" : reviews[review]}`;
}
