import { GitMerge, GitPullRequest, RefreshCw } from "lucide-react";
import { useId, useState } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import type { GitStatus } from "../../src/wire/publish.ts";
import type { PullRequest as PullRequestState, PullRequestStatus } from "../../src/wire/pull-requests.ts";
import { hasCode } from "../api/api-error.ts";
import { useMay } from "../api/sign-in.ts";
import { Badge } from "../ui/badge.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { ErrorNotice, LoadingRows, WithCommands } from "../ui/notice.tsx";
import { isLive } from "../ui/session-state.ts";
import { plainName } from "../ui/untrusted.tsx";
import { MergeDialog } from "./merge-dialog.tsx";
import { OpenPullRequest } from "./open-pull-request.tsx";
import { Checks, Comments, ForgeLink } from "./pull-request-details.tsx";
import { type PullRequestActions, usePullRequest } from "./use-pull-request.ts";

interface Props {
  readonly summary: SessionSummary;
  readonly status: GitStatus;
  /** Whether another action runs. */
  readonly busy: boolean;
  /** The agent was asked to do something. */
  readonly onAsked: () => void;
  /** Opens the dialog that closes the session. */
  readonly onCloseSession: () => void;
}

/** The pull request of the session's branch: open it, follow its checks and comments, merge it. */
export function PullRequest(props: Props) {
  const { summary, status } = props;
  const titleId = useId();
  const pushed = status.upstream !== null;
  const actions = usePullRequest(summary, { enabled: pushed });
  const { isFetching, isPending, error, refetch } = actions.query;
  if (status.branch === null || status.remotes.length === 0) return null;
  const unavailable = hasCode(error, "forge_not_available");
  return (
    <section aria-labelledby={titleId} className="mt-3 grid gap-2 border-t border-line pt-3">
      <div className="flex min-h-7 items-center gap-2">
        <h3 id={titleId} className="flex-1 text-sm font-semibold">
          Pull request
        </h3>
        {pushed && <IconButton label="Refresh" icon={RefreshCw} disabled={isFetching} onClick={() => void refetch()} />}
      </div>
      {!pushed && <p className="text-sm text-ink-soft">Push the branch to open a pull request.</p>}
      {pushed && isPending && <LoadingRows label="Loading the pull request" rows={1} />}
      {unavailable ? (
        <p className="text-sm wrap-anywhere text-ink-soft">
          <WithCommands text={error.message} />
        </p>
      ) : (
        <ErrorNotice error={error} onRetry={() => void refetch()} />
      )}
      {pushed && !unavailable && actions.status !== undefined && (
        <OnForge {...props} forge={actions.status} actions={actions} />
      )}
    </section>
  );
}

type ForgeProps = Props & { readonly forge: PullRequestStatus; readonly actions: PullRequestActions };

function OnForge(props: ForgeProps) {
  const { forge, busy, actions } = props;
  const { pullRequest } = forge;
  const [opening, setOpening] = useState(false);
  const next = pullRequest === null || pullRequest.state === "closed";
  return (
    <>
      {pullRequest !== null && <Shown {...props} pullRequest={pullRequest} />}
      {next && (
        <div className="flex flex-wrap items-center justify-end gap-2">
          <span className="min-w-0 flex-1 text-xs wrap-anywhere text-ink-soft">
            {forge.forge.host}/{forge.forge.repository}
          </span>
          <Button
            icon={GitPullRequest}
            disabled={busy || actions.pending}
            onClick={() => {
              actions.reset();
              setOpening(true);
            }}
          >
            Open pull request…
          </Button>
        </div>
      )}
      {opening && <OpenPullRequest actions={actions} defaults={forge.defaults} onClose={() => setOpening(false)} />}
    </>
  );
}

function Shown(props: ForgeProps & { readonly pullRequest: PullRequestState }) {
  const { pullRequest, forge, status, busy, actions, onAsked } = props;
  const { number, url, title, base, head, review, checks, comments, state } = pullRequest;
  const mayWrite = useMay("coding:write");
  const [merging, setMerging] = useState(false);
  const obstacle = state === "open" ? obstacleTo(pullRequest) : null;
  const disabled = busy || actions.pending;
  const ask = (about: "checks" | "comments", prompt: string) => () => {
    actions.reset();
    actions.ask.mutate({ about, prompt }, { onSuccess: onAsked });
  };
  const asking = actions.ask.isPending ? actions.ask.variables.about : null;
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 text-sm">
        <span className="min-w-0 flex-[1_1_12rem]">
          <ForgeLink url={url}>
            #{number} {plainName(title)}
          </ForgeLink>
        </span>
        <State {...{ pullRequest }} />
        {review !== null && <Review review={review} />}
      </div>
      <p className="text-xs wrap-anywhere text-ink-soft">
        <span className="font-mono">{head}</span> into <span className="font-mono">{base}</span>
      </p>
      <Checks checks={checks} />
      <Comments comments={comments} />
      {obstacle !== null && <p className="text-xs text-ink-soft">{obstacle}</p>}
      {mayWrite && state === "open" && (forge.prompts.checks ?? forge.prompts.comments) !== null && (
        <div className="flex flex-wrap justify-end gap-2">
          {forge.prompts.checks !== null && (
            <Button disabled={disabled} busy={asking === "checks"} onClick={ask("checks", forge.prompts.checks)}>
              Ask the agent to fix the checks
            </Button>
          )}
          {forge.prompts.comments !== null && (
            <Button disabled={disabled} busy={asking === "comments"} onClick={ask("comments", forge.prompts.comments)}>
              Ask the agent to address the comments
            </Button>
          )}
        </div>
      )}
      <ErrorNotice error={actions.ask.error} />
      {state === "open" && (
        <div className="flex justify-end">
          <Button
            variant="primary"
            icon={GitMerge}
            disabled={disabled || obstacle !== null}
            onClick={() => {
              actions.reset();
              setMerging(true);
            }}
          >
            Merge…
          </Button>
        </div>
      )}
      {state === "merged" && <Merged {...props} disabled={disabled} />}
      {merging && <MergeDialog {...{ pullRequest, status, actions }} onClose={() => setMerging(false)} />}
    </>
  );
}

function Merged({
  summary,
  disabled,
  onCloseSession,
}: Pick<Props, "summary" | "onCloseSession"> & { readonly disabled: boolean }) {
  const mayWrite = useMay("coding:write");
  if (!mayWrite || summary.owner === "external" || !isLive(summary)) return null;
  return (
    <div className="flex justify-end">
      <Button variant="primary" disabled={disabled} onClick={onCloseSession}>
        {summary.worktree === null ? "Close session…" : "Close session and worktree…"}
      </Button>
    </div>
  );
}

function State({ pullRequest: { state, draft } }: { readonly pullRequest: PullRequestState }) {
  if (state === "merged") return <Badge tone="accent">Merged</Badge>;
  if (state === "closed") return <Badge tone="danger">Closed</Badge>;
  return draft ? <Badge>Draft</Badge> : <Badge tone="accent">Open</Badge>;
}

function Review({ review }: { readonly review: NonNullable<PullRequestState["review"]> }) {
  if (review === "approved") return <Badge tone="accent">Approved</Badge>;
  if (review === "changes_requested") return <Badge tone="danger">Changes requested</Badge>;
  return <Badge tone="lamp">Review required</Badge>;
}

/** Why the forge would not merge an open pull request; null if it probably would. */
function obstacleTo({ merge, draft, base }: PullRequestState): string | null {
  if (draft) return "It is a draft. Mark it as ready for review on its page.";
  if (merge === "conflicts") return `It has conflicts with ${base}. Update the branch, then push.`;
  if (merge === "blocked") return `Merging into ${base} requires checks, approvals or an up-to-date branch.`;
  return null;
}
