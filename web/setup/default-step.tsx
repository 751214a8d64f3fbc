import type { AgentSetup } from "../../src/wire/agent-setup.ts";
import { useConfigureAgent } from "../api/agents.ts";
import { Button } from "../ui/button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import { agentName } from "../ui/session-state.ts";
import type { StepState } from "./setup-words.ts";
import { Step } from "./step.tsx";

/** Whether requests that name no agent get this one. */
export function DefaultStep({ agent, all }: { readonly agent: AgentSetup; readonly all: readonly AgentSetup[] }) {
  const configure = useConfigureAgent();
  const { state, words } = standing(agent, all);
  return (
    <Step title="Default" state={state}>
      <p className="text-ink-soft">{words}</p>
      {configure.error !== null && <ErrorNotice error={configure.error} />}
      {agent.isConfigured && !agent.isDefault && (
        <div>
          <Button busy={configure.isPending} onClick={() => configure.mutate({ name: agent.name, isDefault: true })}>
            Make it the default
          </Button>
        </div>
      )}
    </Step>
  );
}

function standing(
  agent: AgentSetup,
  all: readonly AgentSetup[],
): { readonly state: StepState; readonly words: string } {
  if (!agent.isConfigured) return { state: "later", words: "Comes when its program is used." };
  if (agent.isDefault) return { state: "done", words: "Requests that name no agent get this one." };
  const configured = all.filter(({ isConfigured }) => isConfigured);
  if (configured.length === 1) {
    return {
      state: "skipped",
      words: "Not needed: it is the only one that is set up, and taken when a request names none.",
    };
  }
  const other = configured.find(({ isDefault }) => isDefault);
  return other === undefined
    ? { state: "open", words: "There is no default: requests must name an agent." }
    : { state: "skipped", words: `Requests that name no agent get ${agentName(other.name)}.` };
}
