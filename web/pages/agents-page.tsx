import { Bot } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "react-router";
import type { AgentEntry } from "../../src/wire/coding.ts";
import { useAgentSetups, useAgents, useConfigureAgent, useRemoveAgent } from "../api/agents.ts";
import { useMay } from "../api/sign-in.ts";
import { Badge } from "../ui/badge.tsx";
import { Button, buttonClass } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { EmptyState, ErrorNotice, QueryState } from "../ui/notice.tsx";
import { Page, Section } from "../ui/page.tsx";
import { Rows } from "../ui/rows.tsx";
import { agentName } from "../ui/session-state.ts";

export function AgentsPage() {
  const agents = useAgents();
  const configure = useConfigureAgent();
  const mayAdminister = useMay("admin");
  const setups = useAgentSetups({ enabled: mayAdminister });
  const [removing, setRemoving] = useState<string | null>(null);
  const missing = (setups.data ?? []).filter(({ binary, isConfigured }) => binary === null && !isConfigured);

  const row = (agent: AgentEntry, state: "configured" | "found" | "missing") => (
    <AgentRow key={agent.name} agent={agent} state={state}>
      {mayAdminister && (
        <Link
          to={`/agents/${encodeURIComponent(agent.name)}`}
          className={buttonClass(state === "found" ? { variant: "primary" } : {})}
        >
          Set up<span className="sr-only"> {agentName(agent.name)}</span>
        </Link>
      )}
      {mayAdminister && state === "configured" && (
        <>
          {!agent.isDefault && (
            <Button onClick={() => configure.mutate({ name: agent.name, isDefault: true })}>Make default</Button>
          )}
          <Button variant="ghost" onClick={() => setRemoving(agent.name)}>
            Remove…
          </Button>
        </>
      )}
    </AgentRow>
  );

  return (
    <Page title="Agents" description="Coding agents that Postern can run, each with its own login.">
      <ErrorNotice error={configure.error} className="mb-4" />
      <QueryState query={agents} label="Loading agents" rows={2} />
      {agents.data !== undefined && (
        <>
          <Section title="Configured">
            {agents.data.agents.length === 0 ? (
              <EmptyState title="No agents configured">
                {mayAdminister
                  ? "Set up an agent that was found on this machine, or install one."
                  : "Ask the owner of the gateway to set one up."}
              </EmptyState>
            ) : (
              <Rows label="Configured agents">{agents.data.agents.map((agent) => row(agent, "configured"))}</Rows>
            )}
          </Section>
          {agents.data.availableAgents.length > 0 && (
            <Section title="Found on this machine" description="Set these up to use them.">
              <Rows label="Found agents">{agents.data.availableAgents.map((agent) => row(agent, "found"))}</Rows>
            </Section>
          )}
          {missing.length > 0 && (
            <Section title="Not found" description="Not installed, or not on the gateway's PATH.">
              <Rows label="Agents not found">{missing.map((agent) => row(agent, "missing"))}</Rows>
            </Section>
          )}
        </>
      )}
      {removing !== null && <RemoveDialog name={removing} onClose={() => setRemoving(null)} />}
    </Page>
  );
}

function AgentRow(props: {
  readonly agent: AgentEntry;
  readonly state: "configured" | "found" | "missing";
  readonly children: ReactNode;
}) {
  const { agent, state, children } = props;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-3 px-4 py-3">
      <Bot aria-hidden className="size-5 shrink-0 text-ink-faint" />
      <div className={classNames("flex-1", state === "missing" ? "min-w-32" : "min-w-52")}>
        <div className="flex flex-wrap items-center gap-1.5">
          <h3 className="font-medium">{agentName(agent.name)}</h3>
          {agent.version !== null && <span className="text-xs text-ink-faint">{agent.version}</span>}
          {agent.isDefault && <Badge tone="accent">Default</Badge>}
          <LoginBadge login={agent.login} />
        </div>
        {state !== "missing" && (
          <p className="font-mono text-2xs text-ink-faint">
            {agent.binary ?? <span className="text-danger">Program not found</span>}
          </p>
        )}
      </div>
      <div className="flex flex-wrap gap-1.5">{children}</div>
    </li>
  );
}

function LoginBadge({ login }: { readonly login: AgentEntry["login"] }) {
  switch (login) {
    case "logged_in":
      return <Badge>Logged in</Badge>;
    case "logged_out":
      return <Badge tone="lamp">Not logged in</Badge>;
    case "key_variable":
      return <Badge>Uses an API key</Badge>;
    case "unknown":
      return null;
  }
}

function RemoveDialog({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const remove = useRemoveAgent();
  return (
    <ConfirmDialog
      onClose={onClose}
      title={`Remove ${agentName(name)}?`}
      description="Postern no longer starts this agent. Its program, login and sessions are kept."
      confirm="Remove"
      act={remove}
      onConfirm={() => remove.mutate(name, { onSuccess: onClose })}
    />
  );
}
