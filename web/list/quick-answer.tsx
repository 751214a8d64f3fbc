import { useQueryClient } from "@tanstack/react-query";
import { answerPermissionOutputSchema, type SessionSummary } from "../../src/wire/coding.ts";
import { acting } from "../api/client.ts";
import { queryKeys, useAct } from "../api/query.ts";
import { viewOfTool } from "../session/tool-summary.ts";
import { Button } from "../ui/button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";

/** Longer commands are decided on the session's page, which shows them in full. */
const maxLength = 200;

/** The session's request, if it is a single command that can be decided in a row of the list. */
export function quickCommand({ permissions }: SessionSummary): string | null {
  const [permission, ...more] = permissions;
  if (permission === undefined || more.length > 0) return null;
  const view = viewOfTool(permission.input);
  if (permission.kind !== "permission" || !permission.answerable || view.kind !== "command") return null;
  const command = view.command.trim();
  return command === "" || command.length > maxLength || /[\p{Cc}\p{Cf}]/u.test(command) ? null : command;
}

/** Allow and Deny for {@link quickCommand}. */
export function QuickAnswer({ session, command }: { readonly session: SessionSummary; readonly command: string }) {
  const client = useQueryClient();
  const [permission] = session.permissions;
  const answer = useAct({
    mutationFn: (decision: "allow" | "deny") =>
      acting.codingAnswerPermission(
        { sessionId: session.sessionId, permissionId: permission?.permissionId ?? "", decision },
        { output: answerPermissionOutputSchema },
      ),
    onSettled: () => {
      void client.invalidateQueries({ queryKey: queryKeys.session(session.sessionId) });
      void client.invalidateQueries({ queryKey: queryKeys.sessionLists });
    },
  });
  return (
    <div className="flex flex-wrap items-center gap-2 pr-2 pb-2.5 pl-8">
      <code className="min-w-0 basis-full rounded-md bg-well px-2 py-1 font-mono text-xs wrap-anywhere whitespace-pre-wrap">
        {command}
      </code>
      <Button size="sm" variant="primary" busy={answer.isPending} onClick={() => answer.mutate("allow")}>
        Allow
      </Button>
      <Button size="sm" disabled={answer.isPending} onClick={() => answer.mutate("deny")}>
        Deny
      </Button>
      <ErrorNotice error={answer.error} className="basis-full" />
    </div>
  );
}
