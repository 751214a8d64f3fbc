import { useQueryClient } from "@tanstack/react-query";
import { ShieldQuestion } from "lucide-react";
import { Link } from "react-router";
import { answerPermissionOutputSchema, type SessionSummary } from "../../src/wire/coding.ts";
import { messageOf } from "../api/api-error.ts";
import { acting } from "../api/client.ts";
import { queryKeys, useAct } from "../api/query.ts";
import { useMay } from "../api/sign-in.ts";
import { summaryOfTool, toolName } from "../session/tool-summary.ts";
import { Button, buttonClass } from "../ui/button.tsx";

/** The session's oldest permission request, shown over the oldest lines of its terminal, so that nothing moves. */
export function PermissionStrip({
  summary,
  onTerminal,
}: {
  readonly summary: SessionSummary;
  readonly onTerminal: () => void;
}) {
  const client = useQueryClient();
  const mayDrive = useMay("coding:drive");
  const [permission] = summary.permissions;
  const answer = useAct({
    mutationFn: (decision: "allow" | "deny") =>
      acting.codingAnswerPermission(
        { sessionId: summary.sessionId, permissionId: permission?.permissionId ?? "", decision },
        { output: answerPermissionOutputSchema },
      ),
    onSettled: () => {
      void client.invalidateQueries({ queryKey: queryKeys.session(summary.sessionId) });
      void client.invalidateQueries({ queryKey: queryKeys.sessionLists });
    },
  });
  if (permission === undefined) return null;
  const { kind, tool, input, answerable } = permission;
  const more = summary.permissions.length - 1;
  const what = kind === "permission" ? summaryOfTool(input) : "";
  const title =
    kind === "question" ? "Has a question" : kind === "plan" ? "Has a plan" : kind === "dialog" ? tool : toolName(tool);
  return (
    <div className="absolute inset-x-2 top-2 z-10">
      <section
        aria-label="Permission request"
        className="rounded-lg border border-lamp-fill/50 bg-raised px-2 py-1.5 text-xs shadow-float"
      >
        <p className="flex min-w-0 items-center gap-1.5">
          <ShieldQuestion aria-hidden className="size-4 shrink-0 text-lamp" />
          <span className="shrink-0 font-semibold text-lamp">{title}</span>
          <span className="min-w-0 flex-1 truncate font-mono text-xs" title={what}>
            {what}
          </span>
          {more > 0 && <span className="shrink-0 text-ink-faint">+{more}</span>}
        </p>
        {answer.error !== null && (
          <p role="alert" className="mt-1 text-danger">
            {messageOf(answer.error)}
          </p>
        )}
        <div className="mt-1.5 flex flex-wrap gap-1.5">
          {kind === "permission" && answerable && mayDrive ? (
            <>
              <Button size="sm" variant="primary" busy={answer.isPending} onClick={() => answer.mutate("allow")}>
                Allow
              </Button>
              <Button size="sm" disabled={answer.isPending} onClick={() => answer.mutate("deny")}>
                Deny
              </Button>
            </>
          ) : (
            mayDrive && (
              <Button size="sm" onClick={onTerminal}>
                Answer in terminal
              </Button>
            )
          )}
          <Link
            to={`/sessions/${encodeURIComponent(summary.sessionId)}`}
            className={buttonClass({ size: "sm", variant: "ghost" })}
          >
            Details
          </Link>
        </div>
      </section>
    </div>
  );
}
