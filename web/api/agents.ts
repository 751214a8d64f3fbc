import { useQuery, useQueryClient } from "@tanstack/react-query";
import {
  type AgentSetupJobKind,
  agentSetupSchema,
  agentTerminalSchema,
  type LoginMethod,
} from "../../src/wire/agent-setup.ts";
import type { ConfigureAgentInput } from "../../src/wire/changes.ts";
import { listAgentsOutputSchema } from "../../src/wire/coding.ts";
import { callApi, callTool, sendApi } from "./client.ts";
import { queryKeys, useAct, useChange, useRemove } from "./query.ts";

/** While a job runs, its end shows up soon even on a page without its terminal. */
const runningMs = 2_000;

export function useAgents() {
  return useQuery({
    queryKey: queryKeys.agents,
    queryFn: ({ signal }) => callTool("coding_list_agents", listAgentsOutputSchema, { input: {}, signal }),
    staleTime: 15_000,
  });
}

export function useAgentSetups({ enabled = true }: { readonly enabled?: boolean } = {}) {
  return useQuery({
    queryKey: queryKeys.agentSetups,
    queryFn: async ({ signal }) => (await callApi("/api/agents/setup", agentSetupSchema, { signal })).agents,
    enabled,
    refetchInterval: ({ state }) =>
      state.data?.some(({ errands: jobs }) => jobs.some((job) => job.state !== "ended")) ? runningMs : false,
  });
}

export function useConfigureAgent() {
  return useChange(queryKeys.agents, ({ name, ...body }: ConfigureAgentInput & { readonly name: string }) =>
    sendApi(`/api/agents/${encodeURIComponent(name)}`, { body }),
  );
}

export function useRemoveAgent() {
  return useRemove("/api/agents", queryKeys.agents);
}

/** Starts an agent's own login or its installation in a terminal. */
export function useStartSetupJob() {
  return useChange(queryKeys.agentSetups, ({ name, kind, method }: SetupJobRequest) =>
    callApi(jobPath(name, kind), agentTerminalSchema, {
      method: "POST",
      ...(method === undefined ? {} : { body: { method } }),
    }),
  );
}

interface SetupJobRequest {
  readonly name: string;
  readonly kind: AgentSetupJobKind;
  readonly method?: LoginMethod | undefined;
}

/** Stops the job and everything it started. */
export function useCancelSetupJob() {
  const client = useQueryClient();
  return useAct({
    mutationFn: ({ name, kind }: Omit<SetupJobRequest, "method">) => sendApi(jobPath(name, kind), { method: "DELETE" }),
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.agents }),
  });
}

function jobPath(name: string, kind: AgentSetupJobKind): string {
  return `/api/agents/${encodeURIComponent(name)}/${kind}`;
}

/** Cancels a job as its page closes, unless another page shows it. */
export function leaveSetupJob(name: string, kind: AgentSetupJobKind): Promise<void> {
  return sendApi(`${jobPath(name, kind)}?unlessWatched=true`, { method: "DELETE" });
}
