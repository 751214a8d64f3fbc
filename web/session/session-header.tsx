import { useQueryClient } from "@tanstack/react-query";
import { ArrowLeft, BookMarked, CircleStop, Folder, GitBranch, Play, Power } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { Link } from "react-router";
import {
  type CloseOutput,
  interruptOutputSchema,
  keepOutputSchema,
  type SessionSummary,
  spawnOutputSchema,
} from "../../src/wire/coding.ts";
import { acting } from "../api/client.ts";
import { queryKeys, useAct } from "../api/query.ts";
import { useMay } from "../api/sign-in.ts";
import { TitleField } from "../list/row-actions.tsx";
import { rename, useIsRenaming } from "../list/selection.ts";
import { useSeen } from "../list/use-seen.ts";
import { Lamp } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import {
  agentName,
  isLive,
  projectOf,
  type SessionState,
  sessionState,
  sessionTitle,
  shortPath,
} from "../ui/session-state.ts";
import { SwitchField } from "../ui/switch-field.tsx";
import { exactTime, RelativeTime } from "../ui/time.tsx";
import { CloseDialog } from "./close-dialog.tsx";
import { MenuCheck, MenuItem, MenuLine, MenuNote, SessionMenu } from "./session-menu.tsx";

const SessionMemoryDialog = lazy(async () => ({
  default: (await import("../memory/session-memory.tsx")).SessionMemoryDialog,
}));

export interface SessionActions {
  readonly interrupt: () => void;
  readonly resume: () => void;
  readonly interrupting: boolean;
  readonly resuming: boolean;
  readonly error: Error | null;
}

export function useSessionActions(summary: SessionSummary, sessionId: string): SessionActions {
  const client = useQueryClient();
  const refresh = (): void => {
    void client.invalidateQueries({ queryKey: queryKeys.session(sessionId) });
    void client.invalidateQueries({ queryKey: queryKeys.sessionLists });
  };
  const interrupt = useAct({
    mutationFn: () => acting.codingInterrupt({ sessionId: summary.sessionId }, { output: interruptOutputSchema }),
    onSuccess: refresh,
  });
  const resume = useAct({
    mutationFn: () => acting.spawn({ sessionId: summary.sessionId }, { output: spawnOutputSchema }),
    onSuccess: refresh,
  });
  return {
    interrupt: () => !interrupt.isPending && interrupt.mutate(),
    resume: () => !resume.isPending && resume.mutate(),
    interrupting: interrupt.isPending,
    resuming: resume.isPending,
    error: interrupt.error ?? resume.error,
  };
}

export function SessionHeader({
  summary,
  sessionId,
  actions,
  closing,
  onClosing,
  onClosed,
  layoutItems,
}: {
  readonly summary: SessionSummary;
  readonly sessionId: string;
  readonly actions: SessionActions;
  readonly closing: boolean;
  readonly onClosing: (closing: boolean) => void;
  readonly onClosed: (closed: CloseOutput) => void;
  /** Menu items that arrange the page. */
  readonly layoutItems: ReactNode;
}) {
  const keep = useKeepRunning(summary, sessionId);
  const mayWrite = useMay("coding:write");
  const renaming = useIsRenaming(summary.sessionId);
  useSeen(summary);
  const { tone, words } = sessionState(summary);
  const ours = summary.owner !== "external";
  const live = isLive(summary);
  const works =
    summary.activity === "working" || summary.activity === "needs_permission" || summary.activity === "needs_answer";
  return (
    <header className="shrink-0 border-b border-line bg-panel px-3 py-2 max-lg:py-1 max-lg:pl-1 sm:px-4 [@media(max-height:480px)]:py-0">
      <div className="flex items-center gap-2.5 max-lg:gap-2">
        <Link
          to="/"
          aria-label="Back to sessions"
          className="-mr-1 inline-flex size-10 shrink-0 items-center justify-center rounded-md text-ink-soft hover:bg-hover lg:hidden [@media(max-height:480px)]:size-8"
        >
          <ArrowLeft aria-hidden className="size-4" />
        </Link>
        <Lamp tone={tone} />
        {renaming ? (
          <div className="min-w-0 flex-1">
            <TitleField session={summary} />
          </div>
        ) : (
          <h1
            className="min-w-0 flex-1 truncate text-[0.9375rem] font-semibold tracking-tight"
            title={sessionTitle(summary)}
            onDoubleClick={() => mayWrite && rename(summary.sessionId)}
          >
            {sessionTitle(summary)}
          </h1>
        )}
        <State {...{ tone, words }} className="max-sm:max-w-24 max-sm:truncate" />
        {mayWrite && ours && (
          <div className="flex items-center gap-1.5">
            {live && works && (
              <Button
                size="sm"
                icon={CircleStop}
                busy={actions.interrupting}
                onClick={actions.interrupt}
                aria-label="Interrupt turn"
              >
                <span className="max-sm:hidden">Interrupt</span>
              </Button>
            )}
            {!live && (
              <Button size="sm" variant="primary" icon={Play} busy={actions.resuming} onClick={actions.resume}>
                Resume
              </Button>
            )}
            {(live || (summary.worktree !== null && !summary.worktree.removed)) && (
              <Button
                size="sm"
                icon={Power}
                onClick={() => onClosing(true)}
                aria-label="Close session"
                className={live ? "max-sm:hidden" : ""}
              >
                <span className="max-sm:hidden">Close</span>
              </Button>
            )}
          </div>
        )}
        <SessionMenu summary={summary} sessionId={sessionId}>
          <div className="sm:hidden">
            <MenuNote>
              {agentName(summary.agent)} in {shortPath(projectOf(summary))}
              {summary.branch === null ? "" : `, branch ${summary.branch}`}
              {summary.model === null ? "" : ` · ${summary.model}`}
            </MenuNote>
            {keep !== null && (
              <MenuCheck checked={keep.checked} onChange={keep.change}>
                Keep running
              </MenuCheck>
            )}
            {mayWrite && ours && live && <MenuItem onSelect={() => onClosing(true)}>Close session…</MenuItem>}
            <MenuLine />
          </div>
          {layoutItems}
        </SessionMenu>
      </div>
      <div className="mt-0.5 flex items-center gap-x-3 max-sm:hidden [@media(max-height:480px)]:hidden">
        <div className="scrollbar-none flex min-w-0 flex-1 items-center gap-x-3 overflow-x-auto text-xs whitespace-nowrap text-ink-faint">
          <span className="shrink-0">{agentName(summary.agent)}</span>
          <Fact icon={<Folder aria-hidden className="size-3.5" />} title={summary.dir}>
            {shortPath(projectOf(summary))}
            <CopyButton text={summary.dir} label="Copy directory" className="-my-1 ml-0.5" />
          </Fact>
          {(summary.worktree?.branch ?? summary.branch) !== null && (
            <Fact icon={<GitBranch aria-hidden className="size-3.5" />} title={branchTitle(summary)}>
              <span className="max-w-60 truncate">{summary.worktree?.branch ?? summary.branch}</span>
              {summary.worktree !== null && (
                <span className="ml-1 font-sans text-ink-faint">
                  {summary.worktree.removed ? "(worktree removed)" : `worktree of ${summary.worktree.baseBranch}`}
                </span>
              )}
            </Fact>
          )}
          {summary.model !== null && <span className="shrink-0 font-mono text-2xs">{summary.model}</span>}
          <span className="shrink-0 max-sm:hidden">
            <RelativeTime at={summary.updatedAt} />
          </span>
        </div>
        {keep !== null && (
          <div className="shrink-0 text-xs [&_label]:text-xs" title={keepTitle(summary)}>
            <SwitchField label="Keep running" checked={keep.checked} onChange={keep.change} disabled={keep.isPending} />
          </div>
        )}
        <Remembered summary={summary} />
      </div>
      <ErrorNotice error={actions.error ?? keep?.error ?? null} className="mt-2" />
      {closing && (
        <CloseDialog
          summary={summary}
          sessionId={sessionId}
          onClose={() => onClosing(false)}
          onClosed={(closed) => {
            onClosing(false);
            onClosed(closed);
          }}
        />
      )}
    </header>
  );
}

function State({ tone, words, className }: SessionState & { readonly className: string }) {
  return (
    <span
      role="status"
      aria-label="State"
      className={classNames("text-xs", tone === "needs-you" ? "font-medium text-lamp" : "text-ink-soft", className)}
    >
      {words}
    </span>
  );
}

/** Whether the agent keeps running while it is idle; null if this cannot be set. */
function useKeepRunning(summary: SessionSummary, sessionId: string) {
  const client = useQueryClient();
  const mayWrite = useMay("coding:write");
  const keep = useAct({
    mutationFn: (keepRunning: boolean) =>
      acting.codingKeepSession({ sessionId: summary.sessionId, keepRunning }, { output: keepOutputSchema }),
    onSuccess: () => void client.invalidateQueries({ queryKey: queryKeys.session(sessionId) }),
  });
  if (!mayWrite || summary.owner === "external" || !isLive(summary)) return null;
  const { isPending, error, mutate: change } = keep;
  return { checked: isPending ? keep.variables : summary.keepRunning, isPending, error, change };
}

function keepTitle({ keepRunning, idleEndsAt }: SessionSummary): string {
  if (keepRunning) return "The agent keeps running even when it is idle.";
  if (idleEndsAt === null) return "An agent that is idle for too long is ended. You can resume its session.";
  return `If it stays idle, the agent is ended on ${exactTime(idleEndsAt)}. You can resume its session.`;
}

/** Opens the session's memory, with the scope logs:read. */
function Remembered({ summary }: { readonly summary: SessionSummary }) {
  const mayRead = useMay("logs:read");
  const [open, setOpen] = useState(false);
  if (!mayRead) return null;
  return (
    <>
      <Button size="sm" variant="ghost" icon={BookMarked} onClick={() => setOpen(true)} className="-my-1 shrink-0">
        Memory
      </Button>
      {open && (
        <Suspense>
          <SessionMemoryDialog
            sessionId={summary.sessionId}
            title={sessionTitle(summary)}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      )}
    </>
  );
}

function branchTitle({ worktree, branch }: SessionSummary): string {
  return worktree === null ? `On branch ${branch}` : `Branch ${worktree.branch} in worktree ${worktree.path}`;
}

function Fact({ icon, title, children }: Readonly<{ icon: ReactNode; title: string; children: ReactNode }>) {
  return (
    <span title={title} className="inline-flex shrink-0 items-center gap-1">
      {icon}
      <span className="inline-flex items-center font-mono text-2xs text-ink-soft">{children}</span>
    </span>
  );
}
