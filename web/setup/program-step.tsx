import { Download } from "lucide-react";
import { useState } from "react";
import type { AgentSetup } from "../../src/wire/agent-setup.ts";
import { useConfigureAgent, useStartSetupJob } from "../api/agents.ts";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { ErrorNotice, Notice } from "../ui/notice.tsx";
import { SetupJobPane } from "./errand-pane.tsx";
import { programState, setupJobOf } from "./setup-words.ts";
import { Step } from "./step.tsx";

/** Where the agent's program is; one that is missing is installed, or looked for elsewhere. */
export function ProgramStep({ agent, onEnded }: { readonly agent: AgentSetup; readonly onEnded: () => void }) {
  const { name, binary, version, isConfigured, installCommand } = agent;
  const configure = useConfigureAgent();
  const install = useStartSetupJob();
  const [choosing, setChoosing] = useState(false);
  const errand = setupJobOf(agent, "install");
  const running = errand !== undefined && errand.state !== "ended";
  const failure = configure.error ?? install.error;
  return (
    <Step title="Program" state={programState(agent)}>
      {binary === null ? (
        <p className="text-ink-soft">
          {isConfigured ? "Its program is not there any more." : "It was not found on the gateway's PATH."}
        </p>
      ) : (
        <p className="min-w-0">
          <code className="text-xs break-all">{binary}</code>{" "}
          <span className="text-ink-faint">{version === null ? "tells no version" : version}</span>
        </p>
      )}
      {errand !== undefined && (running || binary === null) && (
        <>
          <SetupJobPane name={name} errand={errand} onEnded={onEnded} />
          {errand.state === "ended" && errand.exitCode === 0 && (
            <Notice tone="lamp">
              npm has installed it where the gateway's PATH does not look. <code>npm prefix --global</code> says where:
              name the program in its <code>bin</code> below.
            </Notice>
          )}
        </>
      )}
      {failure !== null && <ErrorNotice error={failure} />}
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
              Install it from npm
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
    <form
      aria-label="Another program"
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        const binary = path.trim() === "" ? null : path.trim();
        configure.mutate({ name: agent.name, binary }, { onSuccess: onDone });
      }}
    >
      <TextField
        label="Path of the program"
        value={path}
        spellCheck={false}
        autoCapitalize="none"
        autoComplete="off"
        hint="On the gateway's machine. Empty: looked up on its PATH."
        onChange={(event) => setPath(event.target.value)}
      />
      {configure.error !== null && <ErrorNotice error={configure.error} />}
      <div className="flex gap-2">
        <Button type="submit" variant="primary" busy={configure.isPending}>
          Use it
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
    </form>
  );
}
