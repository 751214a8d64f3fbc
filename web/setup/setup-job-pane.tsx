import { ExternalLink } from "lucide-react";
import { useState } from "react";
import type { AgentSetupJob } from "../../src/wire/agent-setup.ts";
import { useCancelSetupJob } from "../api/agents.ts";
import { TerminalPane } from "../session/session-terminal.tsx";
import { Button, buttonClass } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import { waitingWords } from "./setup-words.ts";

/** An agent's login or installation, live in its terminal. */
export function SetupJobPane(props: {
  readonly name: string;
  readonly job: AgentSetupJob;
  readonly onEnded: () => void;
}) {
  const { name, job, onEnded } = props;
  const { kind, sessionId, state, exitCode } = job;
  const [links, setLinks] = useState<readonly string[]>([]);
  const cancel = useCancelSetupJob();
  const runs = state !== "ended";
  return (
    <div className="flex flex-col gap-3">
      {state === "waiting" && (
        <p role="status" className="text-sm text-ink-soft">
          {waitingWords(job)}
        </p>
      )}
      {!runs && (
        <p role="status" className="text-sm text-danger">
          {endWords(kind, exitCode)}
        </p>
      )}
      {runs && kind === "login" && links.length > 0 && <Links links={links} />}
      {state !== "waiting" && (
        <div className="h-[22rem] max-h-[60dvh] overflow-hidden rounded-lg border border-line">
          <TerminalPane
            key={sessionId}
            sessionId={sessionId}
            mode="drive"
            alone
            onState={(next) => next.kind === "ended" && onEnded()}
            onLinks={setLinks}
          />
        </div>
      )}
      <ErrorNotice error={cancel.error} />
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Button data-after-terminal busy={cancel.isPending} onClick={() => cancel.mutate({ name, kind })}>
          {runs ? (kind === "login" ? "Cancel login" : "Cancel installation") : "Close terminal"}
        </Button>
        {state !== "waiting" && (
          <span className="text-xs text-ink-faint pointer-coarse:hidden">
            The terminal sends all keys to the program. Press F6 to leave it.
          </span>
        )}
      </div>
    </div>
  );
}

/** Only the host is shown: the URL is long, and comes from the program. */
function Links({ links }: { readonly links: readonly string[] }) {
  return (
    <ul aria-label="Login links" className="flex flex-col gap-2">
      {links.map((link) => (
        <li key={link} className="flex flex-wrap items-center gap-2">
          <a
            href={link}
            target="_blank"
            rel="noopener noreferrer"
            className={`${buttonClass({ variant: "primary" })} min-w-0 max-w-full`}
          >
            <ExternalLink aria-hidden className="size-3.5 shrink-0" />
            <span className="truncate">Open {new URL(link).host}</span>
          </a>
          <CopyButton text={link} label="Copy link" />
        </li>
      ))}
    </ul>
  );
}

function endWords(kind: AgentSetupJob["kind"], exitCode: number | null): string {
  const what = kind === "login" ? "The login" : "The installation";
  if (exitCode === null) return `${what} was ended.`;
  if (exitCode === 0)
    return kind === "login" ? "The login has ended, but the agent is not logged in." : `${what} is done.`;
  return `${what} failed (exit code ${exitCode}). See the terminal for details.`;
}
