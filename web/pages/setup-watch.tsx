import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "react-router";
import { readOutputSchema } from "../../src/wire/coding.ts";
import { acting, reading } from "../api/client.ts";
import { useScripts } from "../api/folder-profiles.ts";
import { useAct } from "../api/query.ts";
import { TerminalPane } from "../session/session-terminal.tsx";
import { Button } from "../ui/button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";

/**
 * The setup script of a session that is being started, live, and its last screen after a failure.
 * @param props `scriptId`: null until a response contains it; `onStarted`: called once the session exists; `linked`: whether a failure
 *   shows a link to the session
 */
export function SetupWatch(props: {
  readonly since: number;
  readonly scriptId: string | null;
  readonly onStarted: (sessionId: string) => void;
  readonly linked: boolean;
}) {
  const { since, scriptId, onStarted, linked } = props;
  const { data: scripts = [] } = useScripts();
  const stop = useAct({ mutationFn: (id: string) => acting.stopScript({ scriptId: id }) });
  const run =
    scriptId === null
      ? scripts.find(
          ({ kind, state, startedAt }) => kind === "setup" && state === "running" && Date.parse(startedAt) >= since,
        )
      : scripts.find((one) => one.scriptId === scriptId);
  const started = useStarted(scriptId !== null && run?.state === "succeeded" ? run.sessionId : null);
  const { sessionId: startedId } = started;
  useEffect(() => {
    if (startedId !== null) onStarted(startedId);
  }, [startedId, onStarted]);
  if (run === undefined) return null;
  return (
    <section aria-label="Setup script" className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p role="status" className="text-sm text-ink-soft">
          {run.state === "running" ? "The setup script runs. The agent starts when it has ended." : words[run.state]}
        </p>
        {run.state === "running" && (
          <Button size="sm" busy={stop.isPending} onClick={() => stop.mutate(run.scriptId)}>
            Stop script
          </Button>
        )}
      </div>
      <div className="h-72 max-h-[50dvh] overflow-hidden rounded-lg border border-line">
        <TerminalPane key={run.scriptId} sessionId={run.scriptId} mode="drive" alone />
      </div>
      {linked && (run.state === "failed" || run.state === "timed_out") && (
        <Link to={`/sessions/${encodeURIComponent(run.sessionId)}`} className="text-sm text-accent underline">
          Open the session, and send a prompt to try again
        </Link>
      )}
      <ErrorNotice error={stop.error} />
      <ErrorNotice error={started.error} />
    </section>
  );
}

const words = {
  succeeded: "The setup script is done. Starting the agent…",
  failed: "The setup script failed.",
  timed_out: "The setup script took too long and was ended.",
} as const;

/** An agent starts within 15 seconds, and its session exists before that. */
const startRetries = 60;

/** The session's id once it exists; the error if it was not created. */
function useStarted(sessionId: string | null) {
  const { data, error } = useQuery({
    queryKey: ["setup-session", sessionId],
    enabled: sessionId !== null,
    queryFn: ({ signal }) =>
      reading.codingReadSession({ sessionId: sessionId ?? "", last: 1 }, { signal, output: readOutputSchema }),
    retry: startRetries,
    retryDelay: 500,
  });
  return { sessionId: data?.sessionId ?? null, error };
}
