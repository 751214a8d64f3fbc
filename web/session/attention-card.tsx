import { useQueryClient } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import { answerPermissionOutputSchema, type SessionSummary } from "../../src/wire/coding.ts";
import { callTool } from "../api/client.ts";
import { useMay } from "../api/me.ts";
import { useAct } from "../api/query.ts";
import { Button } from "../ui/button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import { agentName } from "../ui/session-state.ts";
import { Scrollable } from "./scrollable.tsx";
import { takeSummary } from "./use-session.ts";

/** A dialog or message of the agent's own that stands in its terminal: what it says, and the choices where they are known. */
export function AttentionCard({
  summary,
  sessionId,
  onTerminal,
}: {
  readonly summary: SessionSummary;
  /** The id of the page's address. */
  readonly sessionId: string;
  readonly onTerminal: () => void;
}) {
  const client = useQueryClient();
  const mayDrive = useMay("coding:drive");
  const dialog = summary.permissions.find(({ kind }) => kind === "dialog");
  const answer = useAct({
    mutationFn: (choice: string) =>
      callTool("coding_answer_permission", answerPermissionOutputSchema, {
        input: { sessionId: summary.sessionId, permissionId: dialog?.permissionId ?? "", choice },
      }),
    onSuccess: (answered) => takeSummary(client, sessionId, answered),
  });
  const title = `${agentName(summary.agent)} needs attention${dialog === undefined ? "" : `: ${dialog.tool}`}`;
  const choices = mayDrive ? (dialog?.choices ?? []) : [];
  return (
    <section
      aria-label={title}
      className="mx-3 mb-2 overflow-hidden rounded-xl border border-lamp-fill/50 bg-panel shadow-float"
    >
      <h2 className="flex items-center gap-2 bg-lamp-soft px-3 py-1.5 text-sm font-semibold text-lamp">
        <TriangleAlert aria-hidden className="size-4" /> {title}
      </h2>
      <Scrollable label="The agent's screen" className="max-h-[40dvh] overflow-auto border-b border-line px-3 py-2">
        <pre className="font-mono text-xs leading-snug">{summary.screen}</pre>
      </Scrollable>
      <div className="p-3">
        {answer.error !== null && <ErrorNotice error={answer.error} />}
        <div className="flex flex-wrap items-center gap-2">
          {choices.map(({ choiceId, label }) => (
            <Button key={choiceId} busy={answer.isPending} onClick={() => answer.mutate(choiceId)}>
              {label}
            </Button>
          ))}
          {choices.length === 0 && (
            <p className="grow text-xs text-ink-soft">
              {mayDrive
                ? "Answer it in the agent's terminal."
                : "Answering needs the scope coding:drive, which this account does not have."}
            </p>
          )}
          <Button variant="ghost" onClick={onTerminal}>
            Go to the terminal
          </Button>
        </div>
      </div>
    </section>
  );
}
