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
import { queryKeys, useAct, useRemove } from "./query.ts";

/** While a job runs: its end is shown soon, also by a page that does not show its terminal. */
const runningMs = 2_000;

/** Configured agents, and those that are found on the machine. */
export function useAgents() {
  return useQuery({
    queryKey: queryKeys.agents,
    queryFn: ({ signal }) => callTool("coding_list_agents", listAgentsOutputSchema, { input: {}, signal }),
    staleTime: 15_000,
  });
}

/** Every agent that the gateway knows, with its setup jobs; for the owner. */
export function useAgentSetups({ enabled = true }: { readonly enabled?: boolean } = {}) {
  return useQuery({
    queryKey: queryKeys.agentSetups,
    queryFn: async ({ signal }) => (await callApi("/api/agents/setup", agentSetupSchema, { signal })).agents,
    enabled,
    refetchInterval: ({ state }) =>
      state.data?.some(({ errands: jobs }) => jobs.some((job) => job.state !== "ended")) ? runningMs : false,
  });
}

/** Configures an agent, or changes what is configured. */
export function useConfigureAgent() {
  const client = useQueryClient();
  return useAct({
    mutationFn: ({ name, ...body }: ConfigureAgentInput & { readonly name: string }) =>
      sendApi(`/api/agents/${encodeURIComponent(name)}`, { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.agents }),
  });
}

export function useRemoveAgent() {
  return useRemove("/api/agents", queryKeys.agents);
}

/** Starts an agent's own log-in, or its installation, in a terminal; the answer says which. */
export function useStartSetupJob() {
  const client = useQueryClient();
  return useAct({
    mutationFn: ({ name, kind, method }: SetupJobRequest) =>
      callApi(jobPath(name, kind), agentTerminalSchema, {
        method: "POST",
        ...(method === undefined ? {} : { body: { method } }),
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.agentSetups }),
  });
}

interface SetupJobRequest {
  readonly name: string;
  readonly kind: AgentSetupJobKind;
  readonly method?: LoginMethod | undefined;
}

/** Ends it, and all that it started. */
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

/** The same for a page that is being left: a moment later, and not while another one shows it. */
export function leaveSetupJob(name: string, kind: AgentSetupJobKind): Promise<void> {
  return sendApi(`${jobPath(name, kind)}?unlessWatched=true`, { method: "DELETE" });
}
