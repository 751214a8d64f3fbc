import { useState } from "react";
import { Link } from "react-router";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { useLiveSessions } from "../api/sessions.ts";
import { useMay } from "../api/sign-in.ts";
import { matchesWords } from "../app/places.ts";
import { Lamp } from "../ui/badge.tsx";
import { Button, buttonClass } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { SearchField } from "../ui/field.tsx";
import { EmptyState, QueryState } from "../ui/notice.tsx";
import { agentName, needsYou, projectOf, sessionState, sessionTitle, shortPath } from "../ui/session-state.ts";
import { maxCells } from "./watch-address.ts";

/** Running sessions that can be shown. Sessions that wait for the user come first. */
function useChoices(): ReturnType<typeof useLiveSessions> & { readonly choices: readonly SessionSummary[] } {
  const live = useLiveSessions();
  const choices = (live.data ?? [])
    .filter(({ owner }) => owner !== "external")
    .toSorted((a, b) => Number(needsYou(b)) - Number(needsYou(a)));
  return { ...live, choices };
}

/** Chooses one running session for a cell. */
export function SessionPicker(props: {
  readonly title: string;
  readonly shown: ReadonlySet<string>;
  readonly onChoose: (sessionId: string) => void;
  readonly onClose: () => void;
}) {
  const { title, shown, onChoose, onClose } = props;
  const [words, setWords] = useState("");
  const { choices, isPending } = useChoices();
  const found = choices.filter(
    (session) =>
      ![session.sessionId, ...session.sessionAliases].some((id) => shown.has(id)) &&
      matchesWords(`${sessionTitle(session)} ${agentName(session.agent)} ${session.dir}`, words),
  );
  return (
    <Dialog
      onClose={onClose}
      title={title}
      top={<SearchField label="Search running sessions" typed={words} onTyped={setWords} />}
    >
      <ul aria-label="Running sessions" className="flex flex-col gap-px">
        {found.map((session) => (
          <li key={session.sessionId}>
            <button
              type="button"
              onClick={() => onChoose(session.sessionId)}
              className="flex w-full items-start gap-2.5 rounded-md px-2 py-1.5 text-left hover:bg-hover pointer-coarse:py-2.5"
            >
              <Choice session={session} />
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 && (
        <p role="status" className="px-2 py-4 text-sm text-ink-faint">
          {isPending ? "Loading…" : words === "" ? "No other running sessions." : "No matching sessions."}
        </p>
      )}
    </Dialog>
  );
}

/** The page before a selection: the first six sessions are preselected. */
export function SessionChooser({ onChoose }: { readonly onChoose: (sessionIds: readonly string[]) => void }) {
  const live = useChoices();
  const { choices } = live;
  const mayWrite = useMay("coding:write");
  const [picked, setPicked] = useState<readonly string[] | null>(null);
  const chosen = (picked ?? choices.map(({ sessionId }) => sessionId).slice(0, maxCells)).filter((id) =>
    choices.some(({ sessionId }) => sessionId === id),
  );
  if (live.data === undefined) return <QueryState query={live} label="Loading sessions" />;
  if (choices.length === 0) {
    return (
      <EmptyState title="No running sessions">
        <p className="mb-3">Up to six running sessions can be shown side by side.</p>
        {mayWrite && (
          <Link to="/new" className={buttonClass({ variant: "primary" })}>
            Start a session
          </Link>
        )}
      </EmptyState>
    );
  }
  const toggle = (sessionId: string): void =>
    setPicked(chosen.includes(sessionId) ? chosen.filter((id) => id !== sessionId) : [...chosen, sessionId]);
  return (
    <>
      <fieldset className="overflow-hidden rounded-xl border border-line bg-panel">
        <legend className="sr-only">Running sessions, up to {maxCells}</legend>
        {choices.map((session) => {
          const checked = chosen.includes(session.sessionId);
          return (
            <label
              key={session.sessionId}
              className="flex cursor-pointer items-start gap-3 border-line px-4 py-2.5 not-last:border-b hover:bg-hover"
            >
              <input
                type="checkbox"
                checked={checked}
                disabled={!checked && chosen.length >= maxCells}
                onChange={() => toggle(session.sessionId)}
                className="mt-0.5 size-4 shrink-0 accent-accent-fill"
              />
              <Choice session={session} />
            </label>
          );
        })}
      </fieldset>
      <div className="mt-4">
        <Button variant="primary" size="lg" disabled={chosen.length === 0} onClick={() => onChoose(chosen)}>
          {chosen.length === 1 ? "Watch 1 session" : `Watch ${chosen.length} sessions`}
        </Button>
      </div>
    </>
  );
}

function Choice({ session }: { readonly session: SessionSummary }) {
  const { tone, words } = sessionState(session);
  return (
    <>
      <Lamp tone={tone} className="mt-1" />
      <span className="min-w-0 flex-1">
        <span className="line-clamp-2 font-medium">{sessionTitle(session)}</span>
        <span className="block truncate text-xs text-ink-faint">
          {words} · {agentName(session.agent)} · {shortPath(projectOf(session))}
        </span>
      </span>
    </>
  );
}
