import { Check } from "lucide-react";
import { Link } from "react-router";
import type { ComparedSession } from "../../src/wire/comparisons.ts";
import { Markdown } from "../session/markdown-view.tsx";
import { Badge, Lamp } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Scrollable } from "../ui/page.tsx";
import { agentName, type SessionState, sessionState } from "../ui/session-state.ts";
import { visibleText } from "../ui/untrusted.tsx";
import { durationWords, tokenWords } from "./comparison-words.ts";

/** One contender: its state, answer and changes. */
export function ContenderCard(props: {
  readonly contender: ComparedSession;
  readonly label: string;
  /** Whether a session was kept. */
  readonly decided: boolean;
  /** Null if the user cannot keep it. */
  readonly onKeep: (() => void) | null;
}) {
  const { contender, label, decided, onKeep } = props;
  const { sessionId, error, answer, changes, workedMs, usage, kept, rescue, branch, worktreeRemoved } = contender;
  const { tone, words } = stateOf(contender);
  // Without its worktree, only the committed changes are known.
  const isUnknown = changes === null || worktreeRemoved;
  return (
    <li
      aria-label={label}
      className={`flex min-w-0 flex-col gap-3 rounded-xl border bg-panel p-4 ${kept ? "border-accent" : "border-line"}`}
    >
      <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
        <h2 className="min-w-0 truncate text-sm font-semibold" title={label}>
          {label}
        </h2>
        {kept ? (
          <Badge tone="accent">Kept</Badge>
        ) : (
          <span className="inline-flex items-center gap-1.5 text-xs text-ink-soft">
            <Lamp tone={tone} /> {words}
          </span>
        )}
      </div>
      {error !== null && <p className="text-sm break-words text-danger">{visibleText(error.detail)}</p>}
      {sessionId !== null && (
        <>
          <dl className="grid grid-cols-3 gap-2 text-xs">
            <Fact name="Time">{workedMs === null ? "–" : durationWords(workedMs)}</Fact>
            <Fact name="Files">{isUnknown ? "–" : changes.files}</Fact>
            <Fact name="Lines">
              {isUnknown || changes.added === null ? (
                "–"
              ) : (
                <LineCounts added={changes.added} removed={changes.removed} />
              )}
            </Fact>
            {usage !== undefined && (
              <Fact name="Tokens" className="col-span-3">
                {tokenWords(usage)}
              </Fact>
            )}
          </dl>
          {answer !== null && (
            <Scrollable
              label={`Last answer of ${label}`}
              className="max-h-72 overflow-y-auto rounded-lg border border-line bg-ground px-3 py-2 text-sm"
            >
              <Markdown text={answer} />
            </Scrollable>
          )}
          {changes !== null && changes.paths.length > 0 && (
            <ul aria-label={`Changed files of ${label}`} className="flex flex-col gap-1 text-xs">
              {changes.paths.map(({ path, added, removed }) => (
                <li key={path} className="flex justify-between gap-3">
                  <span className="min-w-0 truncate font-mono" title={path}>
                    {visibleText(path)}
                  </span>
                  {added !== null && <LineCounts added={added} removed={removed} />}
                </li>
              ))}
              {changes.files > changes.paths.length && (
                <li className="text-ink-faint">and {changes.files - changes.paths.length} more</li>
              )}
            </ul>
          )}
          {worktreeRemoved && (
            <p className="text-xs text-ink-soft">
              {rescue === null ? "It had no uncommitted work. " : "Its uncommitted work was saved as a backup commit. "}
              {rescue !== null && (
                <>
                  Restore it with <code className="break-all">postern rescue restore {sessionId}</code>.{" "}
                </>
              )}
              {branch !== null && (
                <>
                  The branch <code className="break-all">{visibleText(branch)}</code> still exists.
                </>
              )}
            </p>
          )}
          <div className="mt-auto flex flex-wrap items-center gap-3 pt-1">
            {!decided && onKeep !== null && (
              <Button size="md" icon={Check} onClick={onKeep} aria-label={`Keep this one: ${label}`}>
                Keep this one
              </Button>
            )}
            <Link
              to={`/sessions/${encodeURIComponent(sessionId)}`}
              aria-label={`Open session: ${label}`}
              className="text-sm text-accent underline pointer-coarse:py-2"
            >
              Open session
            </Link>
          </div>
        </>
      )}
    </li>
  );
}

function Fact(props: { readonly name: string; readonly className?: string; readonly children: React.ReactNode }) {
  return (
    <div className={props.className}>
      <dt className="text-ink-faint">{props.name}</dt>
      <dd className="tabular-nums">{props.children}</dd>
    </div>
  );
}

function LineCounts({ added, removed }: { readonly added: number; readonly removed: number | null }) {
  return (
    <span className="shrink-0 whitespace-nowrap tabular-nums">
      <span className="text-accent">+{added}</span> <span className="text-danger">−{removed ?? 0}</span>
    </span>
  );
}

function stateOf({ status, activity, closedAt, sessionId }: ComparedSession): SessionState {
  if (sessionId === null) return { tone: "failed", words: "Not started" };
  if (status === null) return { tone: "ended", words: "Not available" };
  return sessionState({ status, activity, closedAt, owner: null, turnFailure: null, endedAfterIdleMs: null });
}

/** The names of contenders: with the model or a number, if an agent takes part several times. */
export function contenderLabels(contenders: readonly ComparedSession[]): readonly string[] {
  const names = contenders.map(({ agent, model }) =>
    model === null ? agentName(agent) : `${agentName(agent)} · ${model}`,
  );
  return names.map((name, index) => {
    if (names.filter((other) => other === name).length === 1) return name;
    return `${name} (${names.slice(0, index + 1).filter((other) => other === name).length})`;
  });
}
