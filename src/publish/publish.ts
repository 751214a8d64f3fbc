import { hasCode } from "../core/errors.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import type { AuditAction } from "../wire/accounts.ts";
import type { Caller } from "../wire/caller.ts";
import type {
  CommitInput,
  Committed,
  GitStatus,
  Hunks,
  HunksInput,
  Pushed,
  PushInput,
  StageInput,
  Updated,
  UpdateInput,
} from "../wire/publish.ts";
import type {
  MergedPullRequest,
  MergePullRequestInput,
  OpenPullRequestInput,
  PullRequestStatus,
} from "../wire/pull-requests.ts";
import { commit } from "./commit.ts";
import type { PublishPorts } from "./ports.ts";
import { mergePullRequest, openPullRequest, readPullRequest } from "./pull-request.ts";
import { push } from "./push.ts";
import { type Checkout, checkoutOf } from "./repository.ts";
import { readHunks, stage } from "./stage.ts";
import { readStatus } from "./status.ts";
import { agentWorking, refuseDuringUpdate, update } from "./update.ts";
import { createUserGit } from "./user-git.ts";

/**
 * Brings changes to a merged branch. Every function runs git as the user, with the user's configuration and hooks, and throws
 * PosternError `session_not_found` | `dir_not_allowed` | `not_a_git_repository` | `git_failed`, in addition to the codes in its comment.
 */
export interface Publish {
  status(input: { readonly sessionId: string }, caller: Caller): Promise<GitStatus>;
  hunks(input: HunksInput, caller: Caller): Promise<Hunks>;
  /** @throws PosternError `changes_outdated` | `invalid_request` */
  stage(input: StageInput, caller: Caller): Promise<GitStatus>;
  /** @throws PosternError `nothing_to_commit` | `agent_working` | `update_in_progress` | `invalid_request` */
  commit(input: CommitInput, caller: Caller): Promise<Committed>;
  /**
   * @throws PosternError `update_conflict` (with `files`) | `update_in_progress` | `no_update_in_progress` | `uncommitted_changes`
   *   | `agent_working` | `invalid_request`
   */
  update(input: UpdateInput, caller: Caller): Promise<Updated>;
  /** @throws PosternError `push_rejected` | `update_in_progress` | `invalid_request` */
  push(input: PushInput, caller: Caller): Promise<Pushed>;
  /**
   * The pull request of the session's branch, with the user's login at the forge.
   * @throws PosternError `forge_not_available` | `forge_failed` | `invalid_request`
   */
  pullRequest(input: { readonly sessionId: string }, caller: Caller): Promise<PullRequestStatus>;
  /** @throws PosternError `branch_not_pushed` | `pull_request_exists`, and those of `pullRequest` */
  openPullRequest(input: OpenPullRequestInput, caller: Caller): Promise<PullRequestStatus>;
  /** @throws PosternError `pull_request_not_found` | `pull_request_changed` | `merge_rejected`, and those of `pullRequest` */
  mergePullRequest(input: MergePullRequestInput, caller: Caller): Promise<MergedPullRequest>;
}

export interface PublishDeps {
  readonly ports: PublishPorts;
  readonly pathVariable: string;
  /** The user's environment, without the gateway's own variables. */
  readonly environment: () => Readonly<Record<string, string>>;
}

/** @see Publish */
export function createPublish(deps: PublishDeps): Publish {
  const { ports } = deps;
  const git = createUserGit(deps);
  const lock = createKeyedLock();
  /** Work trees in which an action of ours runs. */
  const acting = new Set<string>();

  const statusOf = (checkout: Checkout): Promise<GitStatus> =>
    readStatus(git, checkout, ports.isAgentWorking(checkout.root));

  /** One action at a time in a work tree. */
  async function inCheckout<T>(
    { sessionId }: { readonly sessionId: string },
    caller: Caller,
    task: (checkout: Checkout) => Promise<T>,
  ): Promise<T> {
    const { root } = await checkoutOf(ports, sessionId, caller);
    return lock.run(root, async () => {
      acting.add(root);
      try {
        return await task(await checkoutOf(ports, sessionId, caller));
      } finally {
        acting.delete(root);
      }
    });
  }

  function requireRest({ root }: Checkout, { whileWorking }: { readonly whileWorking?: boolean | undefined }): void {
    if (whileWorking === true || !ports.isAgentWorking(root)) return;
    throw agentWorking();
  }

  return {
    async status({ sessionId }, caller) {
      const checkout = await checkoutOf(ports, sessionId, caller);
      const status = await statusOf(checkout);
      // An update of ours that runs now looks like one that was killed.
      if (!acting.has(checkout.root) || status.update === null) return status;
      return { ...status, update: { ...status.update, interrupted: false } };
    },

    async hunks(input, caller) {
      const { root } = await checkoutOf(ports, input.sessionId, caller);
      return readHunks(git, root, input);
    },

    stage: (input, caller) =>
      inCheckout(input, caller, async (checkout) => {
        await stage(git, checkout.root, { input, files: (await statusOf(checkout)).files });
        return statusOf(checkout);
      }),

    commit: (input, caller) =>
      inCheckout(input, caller, async (checkout) => {
        requireRest(checkout, input);
        refuseDuringUpdate(await statusOf(checkout));
        const output = await commit(git, checkout.root, input);
        const status = await statusOf(checkout);
        const id = status.head?.commit ?? "";
        await note("git_committed", checkout, {
          caller,
          details: {
            commit: id,
            branch: status.branch,
            amend: input.amend ?? false,
          },
        });
        return { commit: id, output, status };
      }),

    update: (input, caller) =>
      inCheckout(input, caller, async (checkout) => {
        requireRest(checkout, input);
        const { action = "start", strategy = "merge" } = input;
        const output = await update({ git, checkout, readStatus: () => statusOf(checkout) }, input).catch(
          async (error: unknown) => {
            // Despite the conflict, Git has fetched and changed the work tree, so this is audited.
            const details = { action, strategy, conflict: true };
            if (hasCode(error, "update_conflict")) await note("git_updated", checkout, { caller, details });
            throw error;
          },
        );
        const status = await statusOf(checkout);
        await note("git_updated", checkout, {
          caller,
          details: { action, strategy, commit: status.head?.commit ?? "" },
        });
        return { output, status };
      }),

    push: (input, caller) =>
      inCheckout(input, caller, async (checkout) => {
        const before = await statusOf(checkout);
        refuseDuringUpdate(before);
        const { remote, output } = await push(git, before, input);
        const status = await statusOf(checkout);
        const forced = input.forceWithLease ?? false;
        await note("git_pushed", checkout, {
          caller,
          details: {
            remote,
            branch: status.branch,
            commit: status.head?.commit,
            forced,
          },
        });
        return { remote, output, status };
      }),

    async pullRequest({ sessionId }, caller) {
      const checkout = await checkoutOf(ports, sessionId, caller);
      return readPullRequest({ git, environment: deps.environment, status: await statusOf(checkout) });
    },

    openPullRequest: (input, caller) =>
      inCheckout(input, caller, async (checkout) => {
        const status = await statusOf(checkout);
        return openPullRequest({ git, environment: deps.environment, status }, input, (opened) =>
          note("git_pull_request_opened", checkout, { caller, details: { ...opened, branch: status.branch } }),
        );
      }),

    mergePullRequest: (input, caller) =>
      inCheckout(input, caller, async (checkout) => {
        const { method = "merge" } = input;
        const place = { git, environment: deps.environment, status: await statusOf(checkout) };
        const pullRequest = await mergePullRequest(place, input);
        const { number, url, base, head, headCommit } = pullRequest;
        const details = { number, url, method, branch: head, base, commit: headCommit };
        await note("git_merged", checkout, { caller, details });
        return { pullRequest, status: await statusOf(checkout) };
      }),
  };

  function note(
    action: Extract<AuditAction, `git_${string}`>,
    { sessionId: subject }: { readonly sessionId: string },
    { caller, details }: { readonly caller: Caller; readonly details: Readonly<Record<string, unknown>> },
  ): Promise<void> {
    return ports.note({ action, accountId: caller.accountId, subject, details });
  }
}
