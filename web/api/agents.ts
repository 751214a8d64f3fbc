import { useQuery, useQueryClient } from "@tanstack/react-query";
import {
  type AgentSetupJobKind,
  agentSetupSchema,
  agentTerminalSchema,
  type LoginMethod,
} from "../../src/wire/agent-setup.ts";
import type { ConfigureAgentInput } from "../../src/wire/changes.ts";
import { listAgentsOutputSchema } from "../../src/wire/coding.ts";
import { acting, reading } from "./client.ts";
import { queryKeys, useAct, useChange, useRemove } from "./query.ts";

/** Polls while a job runs, so that pages without its terminal soon show its end. */
const runningMs = 2_000;

export function useAgents() {
  return useQuery({
    queryKey: queryKeys.agents,
    queryFn: ({ signal }) => reading.codingListAgents({}, { signal, output: listAgentsOutputSchema }),
    staleTime: 15_000,
  });
}

export function useAgentSetups({ enabled = true }: { readonly enabled?: boolean } = {}) {
  return useQuery({
    queryKey: queryKeys.agentSetups,
    queryFn: async ({ signal }) => (await reading.agentSetup({}, { signal, output: agentSetupSchema })).agents,
    enabled,
    refetchInterval: ({ state }) =>
      state.data?.some(({ setupJobs: jobs }) => jobs.some((job) => job.state !== "ended")) ? runningMs : false,
  });
}

export function useConfigureAgent() {
  return useChange(queryKeys.agents, (agent: ConfigureAgentInput & { readonly name: string }) =>
    acting.configureAgent(agent),
  );
}

export function useRemoveAgent() {
  return useRemove((name) => acting.removeAgent({ name }), queryKeys.agents);
}

/** Starts an agent's own login or its installation in a terminal. */
export function useStartSetupJob() {
  return useChange(queryKeys.agentSetups, ({ name, kind, method }: SetupJobRequest) =>
    kind === "login"
      ? acting.loginAgent({ name, method }, { output: agentTerminalSchema })
      : acting.installAgent({ name }, { output: agentTerminalSchema }),
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
    mutationFn: ({ name, kind }: Omit<SetupJobRequest, "method">) => cancel(kind, { name }),
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.agents }),
  });
}

function cancel(
  kind: AgentSetupJobKind,
  job: { readonly name: string; readonly unlessWatched?: "true" },
): Promise<void> {
  return kind === "login" ? acting.cancelAgentLogin(job) : acting.cancelAgentInstall(job);
}

/** Cancels a job as its page closes, unless another page shows it. */
export function leaveSetupJob(name: string, kind: AgentSetupJobKind): Promise<void> {
  return cancel(kind, { name, unlessWatched: "true" });
}
