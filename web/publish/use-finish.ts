import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { askOutputSchema, type SessionSummary } from "../../src/wire/coding.ts";
import {
  committedSchema,
  type GitStatus,
  gitStatusSchema,
  pushedSchema,
  updatedSchema,
} from "../../src/wire/publish.ts";
import { acting, reading } from "../api/client.ts";
import { queryKeys, useAct, useRead } from "../api/query.ts";

/** Git hooks may run a whole test suite, so this is as long as the gateway's own limit for them. */
const hooksMs = 930_000;

/** The Git status of a session, and the actions on it. */
export type FinishActions = ReturnType<typeof useFinish>;

export function useFinish({ sessionId, activity }: Pick<SessionSummary, "sessionId" | "activity">) {
  const client = useQueryClient();
  const key = queryKeys.gitStatus(sessionId);
  const status = useRead(key, ({ signal }) => reading.gitStatus({ sessionId }, { signal, output: gitStatusSchema }), {
    staleTime: 0,
  });
  const show = (next: GitStatus) => client.setQueryData(key, next);
  /** A refused update changes the status too. */
  const reread = () => client.invalidateQueries({ queryKey: key });
  const shownFor = useRef(activity);
  useEffect(() => {
    if (shownFor.current === activity) return;
    shownFor.current = activity;
    void client.invalidateQueries({ queryKey: queryKeys.gitStatus(sessionId) });
  }, [client, sessionId, activity]);
  const changed = (answer: { readonly status: GitStatus }) => {
    show(answer.status);
    void client.invalidateQueries({ queryKey: ["diff", sessionId] });
  };
  const stage = useAct({
    mutationFn: (files: { readonly paths?: string[]; readonly unstage: boolean }) =>
      acting.gitStage({ sessionId, ...files }, { output: gitStatusSchema }),
    onSuccess: show,
    onError: reread,
  });
  const commit = useAct({
    mutationFn: (given: { readonly message: string; readonly amend: boolean }) =>
      acting.gitCommit({ sessionId, ...given }, { output: committedSchema, timeoutMs: hooksMs }),
    onSuccess: changed,
    onError: reread,
  });
  const update = useAct({
    mutationFn: (given: { readonly action: "start" | "continue" | "abort"; readonly strategy?: "merge" | "rebase" }) =>
      acting.gitUpdate({ sessionId, ...given }, { output: updatedSchema, timeoutMs: hooksMs }),
    onSuccess: changed,
    onError: reread,
  });
  const push = useAct({
    mutationFn: (forceWithLease: boolean) =>
      acting.gitPush(
        { sessionId, ...(forceWithLease && { forceWithLease }) },
        { output: pushedSchema, timeoutMs: hooksMs },
      ),
    onSuccess: (answer) => {
      changed(answer);
      void client.invalidateQueries({ queryKey: queryKeys.pullRequest(sessionId) });
    },
  });
  const ask = useAct({
    mutationFn: ({ dir, prompt }: { readonly dir: string; readonly prompt: string }) =>
      acting.codingAsk({ sessionId, dir, prompt }, { output: askOutputSchema }),
  });
  const acts = [stage, commit, update, push, ask];
  return {
    status,
    stage,
    commit,
    update,
    push,
    ask,
    reread,
    pending: acts.some(({ isPending }) => isPending),
    /** The error of the last action. */
    error: acts.find(({ error }) => error !== null)?.error ?? null,
    /** Forgets earlier results, before another action. */
    reset: () => {
      for (const act of acts) act.reset();
    },
  };
}
