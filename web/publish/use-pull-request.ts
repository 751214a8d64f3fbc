import { useQuery, useQueryClient } from "@tanstack/react-query";
import { askOutputSchema, type SessionSummary } from "../../src/wire/coding.ts";
import {
  type MergePullRequestInput,
  mergedPullRequestSchema,
  type OpenPullRequestInput,
  type PullRequest,
  type PullRequestStatus,
  pullRequestStatusSchema,
} from "../../src/wire/pull-requests.ts";
import { acting, reading } from "../api/client.ts";
import { queryKeys, useAct } from "../api/query.ts";

/** Most checks take minutes, and forges limit requests. */
const firstPollMs = 5_000;
const maxPollMs = 60_000;
/** Reads after which checks that have not appeared are no longer expected. */
const maxReadsWithoutChecks = 4;

interface ReadPullRequest {
  readonly status: PullRequestStatus;
  /** Consecutive reads without anything new. */
  readonly calm: number;
}

export type PullRequestActions = ReturnType<typeof usePullRequest>;

/** The pull request of the session's branch, and the actions on it. While checks are pending and the page is visible, it is read again. */
export function usePullRequest(summary: SessionSummary, { enabled }: { readonly enabled: boolean }) {
  const { sessionId, dir } = summary;
  const client = useQueryClient();
  const key = queryKeys.pullRequest(sessionId);
  const query = useQuery({
    queryKey: key,
    enabled,
    staleTime: 0,
    queryFn: async ({ signal }): Promise<ReadPullRequest> => {
      const status = await reading.gitPullRequest({ sessionId }, { signal, output: pullRequestStatusSchema });
      return readAgain(client.getQueryData<ReadPullRequest>(key), status);
    },
    // Not after an error: the user can refresh.
    refetchInterval: ({ state: { data, error } }) =>
      data === undefined || error !== null ? false : pollMs(data.status.pullRequest, data.calm),
  });
  const show = (status: PullRequestStatus) => client.setQueryData<ReadPullRequest>(key, { status, calm: 0 });
  const reread = () => void client.invalidateQueries({ queryKey: key });
  const open = useAct({
    mutationFn: (given: Omit<OpenPullRequestInput, "sessionId">) =>
      acting.gitOpenPullRequest({ sessionId, ...given }, { output: pullRequestStatusSchema }),
    onSuccess: show,
    onError: reread,
  });
  const merge = useAct({
    mutationFn: (given: Omit<MergePullRequestInput, "sessionId">) =>
      acting.gitMerge({ sessionId, ...given }, { output: mergedPullRequestSchema }),
    async onSuccess({ pullRequest, status }) {
      // An earlier state that is still being read must not replace this one.
      await client.cancelQueries({ queryKey: key });
      client.setQueryData(queryKeys.gitStatus(sessionId), status);
      client.setQueryData<ReadPullRequest>(key, (now) =>
        now === undefined ? now : { status: { ...now.status, pullRequest }, calm: 0 },
      );
    },
    onError: reread,
  });
  const ask = useAct({
    mutationFn: ({ prompt }: { readonly about: "checks" | "comments"; readonly prompt: string }) =>
      acting.codingAsk({ sessionId, dir, prompt }, { output: askOutputSchema }),
  });
  return {
    query,
    status: query.data?.status,
    open,
    merge,
    ask,
    pending: open.isPending || merge.isPending || ask.isPending,
    reset: () => {
      for (const act of [open, merge, ask]) act.reset();
    },
  };
}

function readAgain(before: ReadPullRequest | undefined, status: PullRequestStatus): ReadPullRequest {
  const same = before !== undefined && JSON.stringify(before.status) === JSON.stringify(status);
  return { status, calm: same ? before.calm + 1 : 0 };
}

type PolledPullRequest = Pick<PullRequest, "state" | "merge" | "checksState"> & {
  readonly checks: readonly Pick<PullRequest["checks"][number], "state">[];
};

/** How long to wait before the next read; false if nothing is expected to change soon. @param calm consecutive reads without anything new */
export function pollMs(pullRequest: PolledPullRequest | null, calm: number): number | false {
  if (pullRequest === null || pullRequest.state !== "open") return false;
  const { checks, checksState, merge } = pullRequest;
  // A failed check decides the state of all, though others are still running.
  const pending = checksState === "pending" || checks.some(({ state }) => state === "pending");
  const starting = (checksState === null || merge === "unknown") && calm < maxReadsWithoutChecks;
  return pending || starting ? Math.min(firstPollMs * 2 ** Math.min(calm, 10), maxPollMs) : false;
}
