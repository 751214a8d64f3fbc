import { useEffect, useEffectEvent } from "react";
import { Link, useParams } from "react-router";
import type { AgentSetup } from "../../src/wire/agent-setup.ts";
import { leaveSetupJob, useAgentSetups } from "../api/agents.ts";
import { buttonClass } from "../ui/button.tsx";
import { EmptyState, QueryState } from "../ui/notice.tsx";
import { BackLink, Page } from "../ui/page.tsx";
import { agentName } from "../ui/session-state.ts";
import { isReady } from "./setup-words.ts";
import { DefaultStep, LoginStep, ProgramStep } from "./steps.tsx";

/** The same as `postern coding setup`. */
export function AgentSetupPage() {
  const { name = "" } = useParams();
  const setups = useAgentSetups();
  const agent = setups.data?.find((one) => one.name === name || one.aliases.includes(name));
  useEndedLogin(agent);
  return (
    <Page
      narrow
      back={<BackLink to="/agents" label="Agents" />}
      title={`Set up ${agentName(agent?.name ?? name)}`}
      description="You can repeat each step at any time. Existing settings are kept."
    >
      <QueryState query={setups} label="Loading agent" rows={3} />
      {setups.data !== undefined && agent === undefined && (
        <EmptyState title={`Agent ${name} not found`}>
          <Link to="/agents" className={buttonClass()}>
            All agents
          </Link>
        </EmptyState>
      )}
      {agent !== undefined && (
        <>
          <ol className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-panel">
            <ProgramStep agent={agent} onEnded={() => void setups.refetch()} />
            <LoginStep agent={agent} onEnded={() => void setups.refetch()} />
            <DefaultStep agent={agent} all={setups.data ?? []} />
          </ol>
          {isReady(agent) && (
            <p role="status" className="mt-5 flex flex-wrap items-center gap-3 text-sm">
              {agentName(agent.name)} is ready.
              <Link to="/new" className={buttonClass({ variant: "primary" })}>
                Start session
              </Link>
            </p>
          )}
        </>
      )}
    </Page>
  );
}

/** Leaving the page cancels its login, unless another tab shows it. A reloaded page finds it again. */
function useEndedLogin(agent: AgentSetup | undefined): void {
  const leave = useEffectEvent(() => {
    const runs = agent?.setupJobs.some(({ kind, state }) => kind === "login" && state === "running") ?? false;
    // If the request is lost, the gateway cancels a login that no one watches.
    if (agent !== undefined && runs) leaveSetupJob(agent.name, "login").catch(() => undefined);
  });
  useEffect(() => () => leave(), []);
}
