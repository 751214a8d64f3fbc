import type { GitStatus } from "../wire/publish.ts";
import type {
  MergePullRequestInput,
  OpenPullRequestInput,
  PullRequest,
  PullRequestStatus,
} from "../wire/pull-requests.ts";
import { commitOf } from "./base-branch.ts";
import { publishError } from "./errors.ts";
import type { Forge, ForgeBranch } from "./forge.ts";
import { baseRemoteOf, type ForgeRepository, repositoryOf } from "./forge-remote.ts";
import { createGitHub } from "./github.ts";
import { gitHubApi } from "./github-api.ts";
import { promptsFor } from "./pull-request-prompts.ts";
import { pushRemoteOf } from "./push.ts";
import type { UserGit } from "./user-git.ts";

interface ForgePlace {
  readonly git: UserGit;
  readonly environment: () => Readonly<Record<string, string>>;
  readonly status: GitStatus;
}

/** A session's branch on its forge. */
interface PublishedBranch {
  readonly forge: Forge;
  readonly head: ForgeBranch;
  readonly remote: string;
}

/** @throws PosternError `forge_not_available` | `forge_failed` | `invalid_request` | `git_failed` */
export async function readPullRequest(place: ForgePlace): Promise<PullRequestStatus> {
  const { forge, head } = await branchOnForge(place);
  const number = await forge.find(head);
  const pullRequest = number === null ? null : await forge.read(number);
  const isOpen = pullRequest !== null && pullRequest.state === "open";
  return { ...statusOf(forge, pullRequest), defaults: isOpen ? null : await defaultsOf(place, head) };
}

async function defaultsOf({ git, status }: ForgePlace, head: ForgeBranch): Promise<PullRequestStatus["defaults"]> {
  const { title, body } = await messagesOf(git, status, undefined);
  return { title: title ?? head.branch, body, base: baseBranchOf(status) };
}

/** @throws PosternError `branch_not_pushed` | `pull_request_exists`, and those of {@link readPullRequest} */
export async function openPullRequest(
  place: ForgePlace,
  { title, body, draft = false, base: named }: Omit<OpenPullRequestInput, "sessionId">,
  onOpened: (opened: { readonly number: number; readonly repository: string; readonly base: string }) => Promise<void>,
): Promise<PullRequestStatus> {
  const { git, status } = place;
  const { forge, head, remote } = await branchOnForge(place);
  const base = named ?? baseBranchOf(status);
  if (base === null) {
    throw publishError(
      "invalid_request",
      "The repository has no base branch that Postern can find. Name one as `base`.",
    );
  }
  if (base === head.branch && head.forkOf === null) {
    throw publishError(
      "invalid_request",
      `${base} cannot be merged into itself. Create a branch for the session's work.`,
    );
  }
  await requirePushed(git, { status, branch: head.branch, remote });
  const messages = await messagesOf(git, status, named);
  const number = await forge.open(head, {
    title: title ?? messages.title ?? head.branch,
    body: body ?? messages.body,
    draft,
    base,
  });
  await onOpened({ number, repository: `${forge.host}/${forge.repository}`, base });
  return statusOf(forge, await forge.read(number));
}

/** @throws PosternError `pull_request_not_found` | `pull_request_changed` | `merge_rejected`, and those of {@link readPullRequest} */
export async function mergePullRequest(
  place: ForgePlace,
  { method = "merge", headCommit }: Omit<MergePullRequestInput, "sessionId">,
): Promise<PullRequest> {
  const { forge, head } = await branchOnForge(place);
  const number = await forge.find(head);
  const pullRequest = number === null ? null : await forge.read(number);
  if (pullRequest === null || pullRequest.state !== "open") {
    throw publishError(
      "pull_request_not_found",
      `The branch ${head.branch} has no open pull request in ${forge.repository}.`,
    );
  }
  const { number: open, headCommit: present } = pullRequest;
  if (present.toLowerCase() !== headCommit.toLowerCase()) {
    throw publishError(
      "pull_request_changed",
      `Pull request #${open} is at commit ${present}, not ${headCommit}. Nothing was merged. Read it again first.`,
    );
  }
  await forge.merge(open, { method, headCommit: present });
  // It is merged, even if it cannot be read again.
  return { ...(await forge.read(open).catch(() => pullRequest)), state: "merged" };
}

function statusOf({ kind, host, repository }: Forge, pullRequest: PullRequest | null): PullRequestStatus {
  return {
    forge: { kind, host, repository },
    pullRequest,
    defaults: null,
    prompts: pullRequest === null ? { checks: null, comments: null } : promptsFor(pullRequest),
  };
}

async function branchOnForge(place: ForgePlace): Promise<PublishedBranch> {
  const { git, status } = place;
  const { root, branch, head } = status;
  if (branch === null) throw publishError("invalid_request", "No branch is checked out. Create one first.");
  const remote = await pushRemoteOf(git, status, branch);
  const pushed = remote === null ? null : await repositoryOf(git, root, remote);
  if (remote === null || pushed === null) {
    throw publishError(
      "forge_not_available",
      remote === null
        ? "The repository has no remote to push to. Add one with `git remote add`."
        : `The remote ${remote} is not a repository on GitHub. \`git remote -v\` shows its address.`,
    );
  }
  const baseRemote = await baseRemoteOf(git, status);
  const base = baseRemote === null || baseRemote === remote ? null : await repositoryOf(git, root, baseRemote);
  const target = base?.host === pushed.host ? base : pushed;
  const isFork = target.path.toLowerCase() !== pushed.path.toLowerCase();
  return {
    forge: await forgeOf(place, target),
    head: { forkOf: isFork ? (pushed.path.split("/")[0] ?? null) : null, branch, commit: head?.commit ?? null },
    remote,
  };
}

async function forgeOf(
  { git, environment, status: { root } }: ForgePlace,
  repository: ForgeRepository,
): Promise<Forge> {
  const { host, path } = repository;
  if (host === "gitlab.com")
    throw publishError("forge_not_available", "Postern cannot open pull requests on GitLab yet.");
  const api = await gitHubApi({ git, root, environment }, repository);
  if (api !== null && path.split("/").length === 2) return createGitHub(api, repository);
  throw publishError(
    "forge_not_available",
    `\`gh\` is not logged in to ${host}. If ${path} is a repository on GitHub, run \`gh auth login --hostname ${host}\`.`,
  );
}

/** The name of the base branch in the repository that pull requests go to. */
function baseBranchOf({ base, remotes }: GitStatus): string | null {
  if (base === null) return null;
  const [remote] = remotes
    .filter((name) => base.name.startsWith(`${name}/`))
    .toSorted((one, other) => other.length - one.length);
  return remote === undefined ? base.name : base.name.slice(remote.length + 1);
}

/** Asks the remote itself: not every clone keeps what it pushed. */
async function requirePushed(
  git: UserGit,
  { status, branch, remote }: { readonly status: GitStatus; readonly branch: string; readonly remote: string },
): Promise<void> {
  const { root } = status;
  const ref = `refs/heads/${branch}`;
  const listed = await git.must(["ls-remote", "--heads", "--", remote, ref], { root, timeoutMs: 60_000 });
  const pushed = listed
    .toString("utf8")
    .split("\n")
    .map((line) => line.split("\t"))
    .find(([, name]) => name === ref)?.[0];
  const head = status.head?.commit;
  if (pushed !== undefined && head !== undefined) {
    if (pushed === head) return;
    const { exitCode } = await git.run(["merge-base", "--is-ancestor", head, pushed], { root });
    if (exitCode === 0) return; // it was continued elsewhere
  }
  throw publishError(
    "branch_not_pushed",
    pushed === undefined
      ? `The branch ${branch} is not on ${remote}. Push it first.`
      : `The branch ${branch} has commits that are not on ${remote}. Push it first.`,
  );
}

const maxCommits = 200;
const maxBodyLength = 60_000;

/** A title and a body from the branch's commits. */
async function messagesOf(
  git: UserGit,
  { root, base }: GitStatus,
  named: string | undefined,
): Promise<{ readonly title: string | null; readonly body: string }> {
  const names = named === undefined ? [] : [`refs/remotes/origin/${named}`, `refs/heads/${named}`];
  const commits = await Promise.all(
    [...names, ...(base === null ? [] : [base.name])].map((name) => commitOf(git, root, name)),
  );
  const from = commits.find((commit) => commit !== null);
  if (from === undefined) return { title: null, body: "" };
  const log = [
    "log",
    "--no-show-signature",
    "-z",
    "--reverse",
    "--no-merges",
    `--max-count=${maxCommits}`,
    "--format=%B",
    `${from}..HEAD`,
    "--",
  ];
  const messages = (await git.must(log, { root }))
    .toString("utf8")
    .split("\0")
    .map((message) => message.trim())
    .filter((message) => message !== "");
  const parts = messages.map((message) => {
    const [subject = "", ...rest] = message.split("\n");
    return { subject, rest: rest.join("\n").trim() };
  });
  const [first] = parts;
  if (first === undefined) return { title: null, body: "" };
  const title = first.subject.slice(0, 256).toWellFormed();
  if (parts.length === 1) return { title, body: first.rest.slice(0, maxBodyLength) };
  const items = parts.map(({ subject, rest }) =>
    [`- ${subject}`, ...(rest === "" ? [] : rest.split("\n").map((line) => `  ${line}`.trimEnd()))].join("\n"),
  );
  return { title, body: items.join("\n").slice(0, maxBodyLength) };
}
