import type { AgentSetup } from "../../src/wire/agent-setup.ts";
import { useStartSetupJob } from "../api/agents.ts";
import { Button } from "../ui/button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import { SetupJobPane } from "./errand-pane.tsx";
import { loginLabel, loginStepState, loginWords, setupJobOf } from "./setup-words.ts";
import { Step } from "./step.tsx";

/** The agent's own log-in, in a terminal; skipped where a key stands for it. */
export function LoginStep({ agent, onEnded }: { readonly agent: AgentSetup; readonly onEnded: () => void }) {
  const { name, loginMethods, login, isConfigured, binary } = agent;
  const start = useStartSetupJob();
  const state = loginStepState(agent);
  const errand = setupJobOf(agent, "login");
  const running = errand?.state === "running";
  const can = isConfigured && binary !== null && !running;
  return (
    <Step title="Log-in" state={running ? "open" : state}>
      {!running && <p className="text-ink-soft">{loginWords(agent)}</p>}
      {errand !== undefined && (running || login !== "logged_in") && (
        <SetupJobPane name={name} errand={errand} onEnded={onEnded} />
      )}
      {start.error !== null && <ErrorNotice error={start.error} />}
      {can && loginMethods.length > 0 && (
        <div className="flex flex-wrap items-center gap-2">
          {loginMethods.map((method, nth) => (
            <Button
              key={method}
              variant={nth === 0 && state === "open" ? "primary" : "secondary"}
              busy={start.isPending && start.variables.method === method}
              onClick={() => start.mutate({ name, kind: "login", method })}
            >
              {loginLabel(method, state)}
            </Button>
          ))}
        </div>
      )}
      {can && loginMethods.includes("code") && (
        <p className="text-xs text-ink-faint">
          From another machine or a phone, take the code: the other way leads back to the gateway's own machine.
        </p>
      )}
    </Step>
  );
}
