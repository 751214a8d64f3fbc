import { Check, Circle, CircleDashed, Download, Minus } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { AgentSetup } from "../../src/wire/agent-setup.ts";
import { useConfigureAgent, useStartSetupJob } from "../api/agents.ts";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { Form, TextField } from "../ui/field.tsx";
import { ErrorNotice, Notice } from "../ui/notice.tsx";
import { agentName } from "../ui/session-state.ts";
import { SetupJobPane } from "./setup-job-pane.tsx";
import { loginLabel, loginStepState, loginWords, programState, type StepState, setupJobOf } from "./setup-words.ts";

const looks = {
  done: { icon: Check, words: "done", className: "bg-accent-soft text-accent" },
  skipped: { icon: Minus, words: "not needed", className: "bg-well text-ink-soft" },
  open: { icon: Circle, words: "to be done", className: "bg-lamp-soft text-lamp" },
  later: { icon: CircleDashed, words: "later", className: "bg-well text-ink-faint" },
} as const;

export function Step({ title, state, children }: Readonly<{ title: string; state: StepState; children: ReactNode }>) {
  const { icon: Icon, words, className } = looks[state];
  return (
    <li className="flex gap-3 px-4 py-4">
      <span className={classNames("mt-0.5 flex size-5 shrink-0 items-center justify-center rounded-full", className)}>
        <Icon aria-hidden className="size-3" />
      </span>
      <div className="flex min-w-0 flex-1 flex-col gap-3 text-sm">
        <h2 className="font-semibold">
          {title}
          <span className="sr-only">, {words}</span>
        </h2>
        {children}
      </div>
    </li>
  );
}

export function ProgramStep({ agent, onEnded }: { readonly agent: AgentSetup; readonly onEnded: () => void }) {
  const { name, binary, version, isConfigured, installCommand } = agent;
  const configure = useConfigureAgent();
  const install = useStartSetupJob();
  const [choosing, setChoosing] = useState(false);
  const job = setupJobOf(agent, "install");
  const running = job !== undefined && job.state !== "ended";
  const failure = configure.error ?? install.error;
  return (
    <Step title="Program" state={programState(agent)}>
      {binary === null ? (
        <p className="text-ink-soft">
          {isConfigured ? "The program no longer exists." : "Not found on the gateway's PATH."}
        </p>
      ) : (
        <p className="min-w-0">
          <code className="text-xs break-all">{binary}</code>{" "}
          <span className="text-ink-faint">{version === null ? "version unknown" : version}</span>
        </p>
      )}
      {job !== undefined && (running || binary === null) && (
        <>
          <SetupJobPane name={name} job={job} onEnded={onEnded} />
          {job.state === "ended" && job.exitCode === 0 && (
            <Notice tone="lamp">
              npm installed it in a folder that is not on the gateway's PATH. Run <code>npm prefix --global</code> to
              see where, and enter the program in its <code>bin</code> folder below.
            </Notice>
          )}
        </>
      )}
      <ErrorNotice error={failure} />
      {!running && (
        <div className="flex flex-wrap items-center gap-2">
          {binary !== null && !isConfigured && (
            <Button variant="primary" busy={configure.isPending} onClick={() => configure.mutate({ name })}>
              Use this program
            </Button>
          )}
          {binary === null && installCommand !== null && (
            <Button
              variant="primary"
              icon={Download}
              busy={install.isPending}
              onClick={() => install.mutate({ name, kind: "install" })}
            >
              Install from npm
            </Button>
          )}
          <Button aria-expanded={choosing} onClick={() => setChoosing(!choosing)}>
            Choose another program
          </Button>
        </div>
      )}
      {binary === null && installCommand !== null && !running && (
        <p className="text-xs text-ink-faint">
          On the gateway's machine: <code className="wrap-anywhere">{installCommand}</code>
        </p>
      )}
      {choosing && !running && <PathForm agent={agent} onDone={() => setChoosing(false)} />}
    </Step>
  );
}

function PathForm({ agent, onDone }: { readonly agent: AgentSetup; readonly onDone: () => void }) {
  const configure = useConfigureAgent();
  const [path, setPath] = useState(agent.binary ?? "");
  return (
    <Form
      aria-label="Another program"
      className="flex flex-col gap-3"
      onSubmit={() => {
        const binary = path.trim() === "" ? null : path.trim();
        configure.mutate({ name: agent.name, binary }, { onSuccess: onDone });
      }}
    >
      <TextField
        label="Program path"
        value={path}
        spellCheck={false}
        autoCapitalize="none"
        autoComplete="off"
        hint="On the gateway's machine. Leave empty to look it up on PATH."
        onChange={(event) => setPath(event.target.value)}
      />
      <ErrorNotice error={configure.error} />
      <div className="flex gap-2">
        <Button type="submit" variant="primary" busy={configure.isPending}>
          Use it
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
    </Form>
  );
}

/** The agent's own login, not needed with an API key. */
export function LoginStep({ agent, onEnded }: { readonly agent: AgentSetup; readonly onEnded: () => void }) {
  const { name, loginMethods, login, isConfigured, binary } = agent;
  const start = useStartSetupJob();
  const state = loginStepState(agent);
  const job = setupJobOf(agent, "login");
  const running = job?.state === "running";
  const can = isConfigured && binary !== null && !running;
  return (
    <Step title="Login" state={running ? "open" : state}>
      {!running && <p className="text-ink-soft">{loginWords(agent)}</p>}
      {job !== undefined && (running || login !== "logged_in") && (
        <SetupJobPane name={name} job={job} onEnded={onEnded} />
      )}
      <ErrorNotice error={start.error} />
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
          On another machine or a phone, log in with a code: the browser login only works on the gateway's own machine.
        </p>
      )}
    </Step>
  );
}

/** Whether the agent is the default. */
export function DefaultStep({ agent, all }: { readonly agent: AgentSetup; readonly all: readonly AgentSetup[] }) {
  const configure = useConfigureAgent();
  const { state, words } = standing(agent, all);
  return (
    <Step title="Default" state={state}>
      <p className="text-ink-soft">{words}</p>
      <ErrorNotice error={configure.error} />
      {agent.isConfigured && !agent.isDefault && (
        <div>
          <Button busy={configure.isPending} onClick={() => configure.mutate({ name: agent.name, isDefault: true })}>
            Make default
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
  if (!agent.isConfigured) return { state: "later", words: "Available when its program is configured." };
  if (agent.isDefault) return { state: "done", words: "Used when a request does not name an agent." };
  const configured = all.filter(({ isConfigured }) => isConfigured);
  if (configured.length === 1) {
    return {
      state: "skipped",
      words: "Not needed: it is the only configured agent.",
    };
  }
  const other = configured.find(({ isDefault }) => isDefault);
  return other === undefined
    ? { state: "open", words: "No default: requests must name an agent." }
    : { state: "skipped", words: `${agentName(other.name)} is used when a request does not name an agent.` };
}
