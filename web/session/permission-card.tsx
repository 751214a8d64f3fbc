import { useQueryClient } from "@tanstack/react-query";
import { CircleHelp, ClipboardList, type LucideIcon, ShieldQuestion, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { answerPermissionOutputSchema, type PendingPermission, type SessionSummary } from "../../src/wire/coding.ts";
import { acting } from "../api/client.ts";
import { queryKeys, useAct } from "../api/query.ts";
import { useMay } from "../api/sign-in.ts";
import { Button } from "../ui/button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import { Scrollable } from "../ui/page.tsx";
import { agentName } from "../ui/session-state.ts";
import { permissionCardId } from "./asked-permission.ts";
import { Decision } from "./decision.tsx";
import { Markdown } from "./markdown-view.tsx";
import { type PermissionAnswer, planOf, QuestionForm, questionsOf } from "./question-form.tsx";
import { ToolInput } from "./tool-call.tsx";
import { intentOfTool, toolName } from "./tool-summary.ts";
import { takeSummary } from "./use-session.ts";

export function PermissionCard(props: {
  readonly permission: PendingPermission;
  readonly summary: SessionSummary;
  /** The id of the page's address. */
  readonly sessionId: string;
  readonly onTerminal: () => void;
}) {
  const { permission, summary, sessionId, onTerminal } = props;
  const mayDrive = useMay("coding:drive");
  const answer = useAnswer<PermissionAnswer>(permission.permissionId, { summary, sessionId });
  const agent = agentName(summary.agent);
  const { kind, tool, input, answerable } = permission;
  const questions = kind === "question" ? questionsOf(input) : [];
  const plan = kind === "plan" ? planOf(input) : null;
  const Icon = kind === "question" ? CircleHelp : kind === "plan" ? ClipboardList : ShieldQuestion;
  const title =
    kind === "question"
      ? `${agent} has a question`
      : kind === "plan"
        ? `${agent} has a plan`
        : intentOfTool({ name: tool, input });
  return (
    <Card
      icon={Icon}
      title={title}
      permissionId={permission.permissionId}
      {...(kind === "permission" && { asker: agent, tool })}
    >
      {kind === "permission" && (
        <div className="max-h-[40dvh] overflow-y-auto border-b border-line">
          <ToolInput input={input} />
        </div>
      )}
      {plan !== null && (
        <Scrollable label="Plan" className="max-h-[45dvh] overflow-y-auto border-b border-line px-4 py-3">
          <Markdown text={plan} />
        </Scrollable>
      )}
      <div className="p-3">
        <ErrorNotice error={answer.error} />
        {!mayDrive ? (
          <p className="text-xs text-ink-soft">Your account needs the scope coding:drive to answer.</p>
        ) : !answerable || (kind === "question" && questions.length === 0) ? (
          <InTerminal onTerminal={onTerminal} />
        ) : kind === "question" ? (
          <QuestionForm questions={questions} busy={answer.isPending} onAnswer={(given) => answer.mutate(given)} />
        ) : (
          <Decision
            plan={plan !== null}
            remembers={
              kind === "permission" ? { sessionId: summary.sessionId, permissionId: permission.permissionId } : null
            }
            act={answer}
            onAnswer={(given) => answer.mutate(given)}
          />
        )}
      </div>
    </Card>
  );
}

function useAnswer<Answer extends object>(
  permissionId: string,
  { summary, sessionId }: { readonly summary: SessionSummary; readonly sessionId: string },
) {
  const client = useQueryClient();
  return useAct({
    mutationFn: (given: Answer) =>
      acting.codingAnswerPermission(
        { sessionId: summary.sessionId, permissionId, ...given },
        { output: answerPermissionOutputSchema },
      ),
    onSuccess: (answered) => {
      takeSummary(client, sessionId, answered);
      void client.invalidateQueries({ queryKey: queryKeys.permissionRules });
    },
  });
}

function Card({
  icon: Icon,
  title,
  asker,
  tool,
  permissionId,
  children,
}: {
  readonly icon: LucideIcon;
  readonly title: string;
  /** The agent and its tool, if the title does not contain them. */
  readonly asker?: string;
  readonly tool?: string;
  readonly permissionId: string | undefined;
  readonly children: ReactNode;
}) {
  return (
    <section
      {...(permissionId === undefined ? {} : { id: permissionCardId(permissionId) })}
      tabIndex={-1}
      aria-label={asker === undefined ? title : `${asker} asks: ${title}`}
      className="mx-3 mb-2 overflow-hidden rounded-xl border border-lamp-fill/50 bg-panel shadow-float"
    >
      <h2 className="flex items-center gap-2 bg-lamp-soft px-3 py-1.5 text-sm font-semibold text-lamp">
        <Icon aria-hidden className="size-4 shrink-0" />
        <span className="min-w-0 truncate" title={title}>
          {title}
        </span>
        {asker !== undefined && tool !== undefined && (
          <span className="ml-auto min-w-0 shrink-0 max-w-1/2 truncate text-xs font-normal">
            {asker} · {toolName(tool)}
          </span>
        )}
      </h2>
      {children}
    </section>
  );
}

function InTerminal({ onTerminal }: { readonly onTerminal: () => void }) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-2">
      <p className="text-xs text-ink-soft">Answer this in the agent's terminal.</p>
      <Button onClick={onTerminal}>Open terminal</Button>
    </div>
  );
}

export function AttentionCard(props: {
  readonly summary: SessionSummary;
  /** The id of the page's address. */
  readonly sessionId: string;
  readonly onTerminal: () => void;
}) {
  const { summary, sessionId, onTerminal } = props;
  const mayDrive = useMay("coding:drive");
  const dialog = summary.permissions.find(({ kind }) => kind === "dialog");
  const answer = useAnswer<{ readonly choice: string }>(dialog?.permissionId ?? "", { summary, sessionId });
  const title = `${agentName(summary.agent)} needs attention${dialog === undefined ? "" : `: ${dialog.tool}`}`;
  const choices = mayDrive ? (dialog?.choices ?? []) : [];
  return (
    <Card icon={TriangleAlert} title={title} permissionId={dialog?.permissionId}>
      <Scrollable label="The agent's screen" className="max-h-[40dvh] overflow-auto border-b border-line px-3 py-2">
        <pre className="font-mono text-xs leading-snug">{summary.screen}</pre>
      </Scrollable>
      <div className="p-3">
        <ErrorNotice error={answer.error} />
        <div className="flex flex-wrap items-center gap-2">
          {choices.map(({ choiceId, label }) => (
            <Button key={choiceId} busy={answer.isPending} onClick={() => answer.mutate({ choice: choiceId })}>
              {label}
            </Button>
          ))}
          {choices.length === 0 && (
            <p className="grow text-xs text-ink-soft">
              {mayDrive ? "Answer it in the agent's terminal." : "Your account needs the scope coding:drive to answer."}
            </p>
          )}
          <Button variant="ghost" onClick={onTerminal}>
            Open terminal
          </Button>
        </div>
      </div>
    </Card>
  );
}
