import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { agentLoginSchema, type ConfigureAgentInput } from "../../src/wire/changes.ts";
import { listAgentsOutputSchema } from "../../src/wire/coding.ts";
import { callApi, callTool, sendApi } from "./client.ts";
import { queryKeys } from "./query-keys.ts";

/** Configured agents, and those that are found on the machine. */
export function useAgents() {
  return useQuery({
    queryKey: queryKeys.agents,
    queryFn: ({ signal }) => callTool("coding_list_agents", listAgentsOutputSchema, { input: {}, signal }),
    staleTime: 15_000,
  });
}

/** Configures an agent, or changes what is configured. */
export function useConfigureAgent() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, ...body }: ConfigureAgentInput & { readonly name: string }) =>
      sendApi(`/api/agents/${encodeURIComponent(name)}`, { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.agents }),
  });
}

/** Takes an agent off the configured ones. */
export function useRemoveAgent() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => sendApi(`/api/agents/${encodeURIComponent(name)}`, { method: "DELETE" }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.agents }),
  });
}

/** Starts an agent's own log-in in a terminal; the answer says which. */
export function useAgentLogin() {
  return useMutation({
    mutationFn: (name: string) =>
      callApi(`/api/agents/${encodeURIComponent(name)}/login`, agentLoginSchema, { body: {} }),
  });
}
