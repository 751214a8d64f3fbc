import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "react-router";
import { type ComparedSession, type KeptSession, keptSessionSchema } from "../../src/wire/comparisons.ts";
import { acting } from "../api/client.ts";
import { queryKeys, useAct } from "../api/query.ts";
import { useMay } from "../api/sign-in.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { CheckField } from "../ui/field.tsx";
import { ErrorNotice, Notice, QueryState } from "../ui/notice.tsx";
import { BackLink, Page } from "../ui/page.tsx";
import { shortPath } from "../ui/session-state.ts";
import { visibleText } from "../ui/untrusted.tsx";
import { ContenderCard, contenderLabels } from "./contender-card.tsx";
import { comparisonKey, useComparison } from "./use-comparison.ts";

interface Choice {
  readonly sessionId: string;
  readonly label: string;
}

/** Several agents on one prompt, side by side. */
export function ComparisonPage() {
  const { comparisonId = "" } = useParams();
  const query = useComparison(comparisonId);
  const mayWrite = useMay("coding:write");
  const [choice, setChoice] = useState<Choice | null>(null);
  const [kept, setKept] = useState<KeptSession | null>(null);
  const { data } = query;
  const labels = contenderLabels(data?.sessions ?? []);
  const failed = kept?.closed.filter(({ error, worktree }) => error !== null || worktree?.removed === false) ?? [];
  return (
    <Page
      title={data?.title ?? "Comparison"}
      back={<BackLink to="/" label="Sessions" />}
      description={
        data === undefined ? undefined : (
          <>
            {shortPath(data.dir)}, from <code>{visibleText(data.baseBranch)}</code> at{" "}
            <code>{data.baseCommit.slice(0, 8)}</code>
          </>
        )
      }
    >
      <QueryState query={query} label="Loading comparison" rows={4} />
      {failed.map(({ agent, sessionId, error, worktree }) => (
        <Notice key={sessionId} tone="lamp">
          {agent} was not removed completely: {visibleText(error?.detail ?? worktree?.reason ?? "")}
        </Notice>
      ))}
      {data !== undefined && (
        <ul className="grid gap-4 md:grid-cols-2 xl:grid-cols-[repeat(auto-fit,minmax(18rem,1fr))]">
          {data.sessions.map((contender, index) => (
            <ContenderCard
              key={contender.sessionId ?? index}
              contender={contender}
              label={labels[index] ?? contender.agent}
              decided={data.keptSessionId !== null}
              onKeep={mayWrite ? () => keepThis(contender, labels[index] ?? contender.agent) : null}
            />
          ))}
        </ul>
      )}
      {data !== undefined && choice !== null && (
        <KeepDialog
          comparisonId={comparisonId}
          choice={choice}
          others={data.sessions.filter(({ sessionId }) => sessionId !== null && sessionId !== choice.sessionId)}
          onClose={() => setChoice(null)}
          onKept={setKept}
        />
      )}
    </Page>
  );

  function keepThis({ sessionId }: ComparedSession, label: string): void {
    if (sessionId !== null) setChoice({ sessionId, label });
  }
}

const busy: ReadonlySet<string | null> = new Set(["working", "starting", "needs_permission", "needs_answer"]);

function KeepDialog(props: {
  readonly comparisonId: string;
  readonly choice: Choice;
  readonly others: readonly ComparedSession[];
  readonly onClose: () => void;
  readonly onKept: (kept: KeptSession) => void;
}) {
  const { comparisonId, choice, others, onClose, onKept } = props;
  const client = useQueryClient();
  const [whileWorking, setWhileWorking] = useState(false);
  const working = others.filter(({ activity }) => busy.has(activity)).length;
  const keep = useAct({
    mutationFn: () =>
      acting.keepOfComparison(
        { comparisonId, sessionId: choice.sessionId, ...(whileWorking && { whileWorking }) },
        { output: keptSessionSchema },
      ),
    async onSuccess(kept) {
      void client.invalidateQueries({ queryKey: queryKeys.sessionLists });
      await client.invalidateQueries({ queryKey: comparisonKey(comparisonId) });
      onKept(kept);
      onClose();
    },
  });
  const count = others.length === 1 ? "the other session" : `the ${others.length} other sessions`;
  return (
    <Dialog
      onClose={onClose}
      title={`Keep ${choice.label}?`}
      description={`This closes ${count} and removes their worktrees.`}
    >
      <ul className="flex list-disc flex-col gap-1.5 pl-5 text-sm text-ink-soft">
        <li>Their uncommitted and untracked files are saved as backup commits. Ignored files are deleted.</li>
        <li>Their branches and conversations stay.</li>
        <li>The session that you keep continues in its worktree.</li>
      </ul>
      {working > 0 && (
        <CheckField
          label={
            working === 1 ? "Stop the agent that is still working" : `Stop the ${working} agents that are still working`
          }
          checked={whileWorking}
          onChange={({ target }) => setWhileWorking(target.checked)}
        />
      )}
      <ErrorNotice error={keep.error} className="mt-3" />
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          variant="primary"
          busy={keep.isPending}
          disabled={working > 0 && !whileWorking}
          onClick={() => keep.mutate()}
        >
          Keep this one
        </Button>
      </div>
    </Dialog>
  );
}
