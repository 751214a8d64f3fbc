import { Bot } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import type { AgentEntry } from "../../src/wire/coding.ts";
import { useAgentLogin, useAgents, useConfigureAgent, useRemoveAgent } from "../api/agents.ts";
import { useMay } from "../api/me.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ConfirmDialog, Dialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { EmptyState, ErrorNotice, LoadingRows } from "../ui/notice.tsx";
import { Page, Rows, Section } from "../ui/page.tsx";
import { agentName } from "../ui/session-state.ts";

const TerminalPane = lazy(async () => ({ default: (await import("../session/terminal-pane.tsx")).TerminalPane }));

/** Which agents there are, which one is taken when nobody says, and who is logged in. */
export function AgentsPage() {
  const agents = useAgents();
  const configure = useConfigureAgent();
  const login = useAgentLogin();
  const mayAdminister = useMay("admin");
  const [open, setOpen] = useState<{ readonly kind: "binary" | "remove" | "login"; readonly name: string } | null>(
    null,
  );
  const close = (): void => {
    // Perhaps somebody logged in.
    if (open?.kind === "login") void agents.refetch();
    setOpen(null);
  };

  const logIn = (name: string): void => {
    login.mutate(name, { onSuccess: () => setOpen({ kind: "login", name }) });
  };
  const row = (agent: AgentEntry, configured: boolean) => (
    <AgentRow key={agent.name} agent={agent}>
      {mayAdminister && !configured && (
        <Button
          variant="primary"
          busy={configure.isPending && configure.variables.name === agent.name}
          onClick={() => configure.mutate({ name: agent.name })}
        >
          Configure
        </Button>
      )}
      {mayAdminister && configured && (
        <>
          {agent.binary !== null && (
            <Button busy={login.isPending && login.variables === agent.name} onClick={() => logIn(agent.name)}>
              {agent.login === "logged_out" ? "Log in" : "Log in again"}
            </Button>
          )}
          {!agent.isDefault && (
            <Button onClick={() => configure.mutate({ name: agent.name, isDefault: true })}>Make default</Button>
          )}
          <Button variant="ghost" onClick={() => setOpen({ kind: "binary", name: agent.name })}>
            Program…
          </Button>
          <Button variant="ghost" onClick={() => setOpen({ kind: "remove", name: agent.name })}>
            Remove…
          </Button>
        </>
      )}
    </AgentRow>
  );

  const failure = configure.error ?? login.error;
  return (
    <Page title="Agents" description="The programs that work in Postern's terminals, with their own log-ins.">
      {failure !== null && open === null && (
        <div className="mb-4">
          <ErrorNotice error={failure} />
        </div>
      )}
      {agents.isPending && <LoadingRows label="Loading agents" rows={2} />}
      {agents.error !== null && <ErrorNotice error={agents.error} onRetry={() => void agents.refetch()} />}
      {agents.data !== undefined && (
        <>
          <Section title="Configured">
            {agents.data.agents.length === 0 ? (
              <EmptyState title="No agent is configured.">
                Agents that are found on this machine are listed below. Install one, and it shows up there.
              </EmptyState>
            ) : (
              <Rows label="Configured agents">{agents.data.agents.map((agent) => row(agent, true))}</Rows>
            )}
          </Section>
          {agents.data.availableAgents.length > 0 && (
            <Section title="Found on this machine" description="They can be used once they are configured.">
              <Rows label="Found agents">{agents.data.availableAgents.map((agent) => row(agent, false))}</Rows>
            </Section>
          )}
        </>
      )}
      {open?.kind === "login" && login.data !== undefined && (
        <Dialog
          open
          wide
          onClose={close}
          title={`Log in to ${agentName(open.name)}`}
          description="The agent's own log-in. Follow it here; close this when it says that it is done."
        >
          <div className="h-[60dvh] min-h-64 overflow-hidden rounded-lg border border-line">
            <Suspense>
              <TerminalPane sessionId={login.data.sessionId} mode="drive" />
            </Suspense>
          </div>
        </Dialog>
      )}
      {open?.kind === "binary" && (
        <BinaryDialog agent={[...(agents.data?.agents ?? [])].find(({ name }) => name === open.name)} onClose={close} />
      )}
      {open?.kind === "remove" && <RemoveDialog name={open.name} onClose={close} />}
    </Page>
  );
}

function AgentRow({ agent, children }: { readonly agent: AgentEntry; readonly children: ReactNode }) {
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-3 px-4 py-3">
      <Bot aria-hidden className="size-5 shrink-0 text-ink-faint" />
      <div className="min-w-52 flex-1">
        <div className="flex flex-wrap items-center gap-1.5">
          <h3 className="font-medium">{agentName(agent.name)}</h3>
          {agent.version !== null && <span className="text-xs text-ink-faint">{agent.version}</span>}
          {agent.isDefault && <Badge tone="accent">Default</Badge>}
          <LoginBadge login={agent.login} />
        </div>
        <p className="font-mono text-2xs text-ink-faint">
          {agent.binary ?? <span className="text-danger">The program was not found.</span>}
        </p>
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

function BinaryDialog({ agent, onClose }: { readonly agent: AgentEntry | undefined; readonly onClose: () => void }) {
  const configure = useConfigureAgent();
  const [path, setPath] = useState(agent?.binary ?? "");
  if (agent === undefined) return null;
  return (
    <Dialog open onClose={onClose} title={`Program of ${agentName(agent.name)}`}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          const binary = path.trim() === "" ? null : path.trim();
          configure.mutate({ name: agent.name, binary }, { onSuccess: onClose });
        }}
      >
        <TextField
          label="Path"
          value={path}
          spellCheck={false}
          hint="Empty: looked up on the gateway's PATH."
          onChange={(event) => setPath(event.target.value)}
        />
        {configure.error !== null && <ErrorNotice error={configure.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={configure.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function RemoveDialog({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const remove = useRemoveAgent();
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`Remove ${agentName(name)}?`}
      description="Postern starts it no more. The program, its log-in and its sessions stay as they are."
      confirm="Remove"
      busy={remove.isPending}
      onConfirm={() => remove.mutate(name, { onSuccess: onClose })}
    >
      {remove.error !== null && <ErrorNotice error={remove.error} />}
    </ConfirmDialog>
  );
}
