import { GitBranch } from "lucide-react";
import { memo } from "react";
import { Link } from "react-router";
import type { ListedSession } from "../api/sessions.ts";
import { summaryOfTool, toolName } from "../session/tool-summary.ts";
import { Badge, Lamp } from "../ui/badge.tsx";
import { classNames } from "../ui/class-names.ts";
import { agentName, needsYou, projectOf, sessionState, sessionTitle, shortPath } from "../ui/session-state.ts";
import { RelativeTime } from "../ui/time.tsx";

/** A session in a list: what it is about, where and by whom, and how it stands. */
export const SessionRow = memo(function SessionRow({ session, match }: ListedSession) {
  const { tone, words } = sessionState(session);
  const waits = needsYou(session);
  // On a phone it stands below: beside it a title would have room for two words.
  const standing = (
    <>
      <State tone={tone} words={words} />
      <RelativeTime at={session.updatedAt} className="text-2xs text-ink-faint tabular-nums" />
    </>
  );
  const branch = session.worktree?.branch ?? session.branch;
  return (
    <li className={classNames("relative", waits && "bg-lamp-soft/60")}>
      <Link
        to={`/sessions/${encodeURIComponent(session.sessionId)}`}
        data-session-link
        className="flex items-start gap-3 px-4 py-2.5 -outline-offset-2 hover:bg-hover"
      >
        <Lamp tone={tone} className="mt-1" />
        <span className="min-w-0 flex-1">
          <span className="line-clamp-2 font-medium sm:block sm:truncate">{sessionTitle(session)}</span>
          <span className="flex min-w-0 items-center gap-x-2 text-xs text-ink-faint">
            <span className="shrink-0">{agentName(session.agent)}</span>
            <span aria-hidden>·</span>
            <span className="truncate" title={session.dir}>
              {shortPath(projectOf(session))}
            </span>
            {branch !== null && (
              <span className="hidden min-w-0 items-center gap-1 sm:flex">
                <GitBranch aria-label="Branch" className="size-3 shrink-0" />
                <span className="truncate font-mono text-2xs">{branch}</span>
              </span>
            )}
          </span>
          <span className="mt-0.5 flex items-center gap-2 sm:hidden">{standing}</span>
          {match !== null && match.field !== "title" && (
            <span className="mt-0.5 line-clamp-2 text-xs text-ink-soft">{match.snippet}</span>
          )}
          {waits && session.permissions[0] !== undefined && (
            <span className="mt-0.5 block truncate text-xs text-lamp">
              {session.permissions
                .map(({ kind, tool, input }) =>
                  kind === "dialog" ? tool : `${toolName(tool)} ${summaryOfTool(input)}`,
                )
                .join(", ")}
            </span>
          )}
        </span>
        <span className="flex shrink-0 flex-col items-end gap-0.5 text-xs max-sm:hidden">{standing}</span>
      </Link>
    </li>
  );
});

function State({ tone, words }: ReturnType<typeof sessionState>) {
  if (tone === "needs-you" || tone === "limited") return <Badge tone="lamp">{words}</Badge>;
  if (tone === "failed") return <Badge tone="danger">{words}</Badge>;
  if (tone === "ended") return <span className="text-2xs leading-5 text-ink-faint">{words}</span>;
  return <Badge tone="accent">{words}</Badge>;
}
