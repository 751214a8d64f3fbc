import { GitBranch } from "lucide-react";
import { memo } from "react";
import { Link } from "react-router";
import type { ListedSession } from "../api/sessions.ts";
import { type SessionsAsked, sessionPageSize, useSessionPage } from "../api/sessions.ts";
import { summaryOfTool, toolName } from "../session/tool-summary.ts";
import { Badge, Lamp } from "../ui/badge.tsx";
import { classNames } from "../ui/class-names.ts";
import { ErrorNotice } from "../ui/notice.tsx";
import { Rows } from "../ui/rows.tsx";
import { agentName, needsYou, projectOf, sessionState, sessionTitle, shortPath } from "../ui/session-state.ts";
import { useSight } from "../ui/sight.ts";
import { RelativeTime } from "../ui/time.tsx";

/** Typical height of a row on a desktop, until its page is measured. */
const rowPx = 59;
const pagePx = sessionPageSize * rowPx;

/** Reads and renders only the pages near the viewport. */
export function SessionList(props: {
  readonly title: string;
  readonly asked: SessionsAsked;
  readonly total: number;
  readonly without: ReadonlySet<string>;
  readonly counted: boolean;
}) {
  const { title, asked, total, without, counted } = props;
  const pages = Math.ceil(total / sessionPageSize);
  const lastPx = (total - (pages - 1) * sessionPageSize) * rowPx;
  const { list, first, last, abovePx, belowPx } = useSight({ parts: pages, partPx: pagePx, lastPx });
  return (
    <section aria-label={title} className="mb-6">
      <h2 className="label-caps mb-1.5 px-1">
        {title} {counted && <span className="font-normal">{total}</span>}
      </h2>
      {/* Pages come and go in exchange for as much room: a browser that takes one for its place to hold on to would jump by a page. */}
      <div ref={list} className="overflow-hidden rounded-xl border border-line bg-panel [overflow-anchor:none]">
        <Room px={abovePx} />
        {Array.from({ length: last - first + 1 }, (_, at) => first + at).map((page) => (
          <div key={page} data-part={page} className="border-line not-last:border-b">
            <SessionsOfPage title={title} asked={asked} page={page} without={without} />
          </div>
        ))}
        <Room px={belowPx} />
      </div>
    </section>
  );
}

function Room({ px }: { readonly px: number }) {
  return <div style={{ height: px }} {...(px > 0 && { "data-more": true })} />;
}

const SessionsOfPage = memo(function SessionsOfPage(props: {
  readonly title: string;
  readonly asked: SessionsAsked;
  readonly page: number;
  readonly without: ReadonlySet<string>;
}) {
  const { title, asked, page, without } = props;
  const { data, error, refetch } = useSessionPage(asked, page);
  if (data === undefined) {
    return error === null ? (
      <div role="status" aria-label="Loading more sessions" data-more style={{ height: pagePx }} className="bg-panel" />
    ) : (
      <ErrorNotice error={error} onRetry={() => void refetch()} />
    );
  }
  const rows = data.listed.filter(({ session }) => !without.has(session.sessionId));
  if (rows.length === 0) return null;
  return (
    <Rows label={page === 0 ? title : `${title}, page ${page + 1}`} bare>
      {rows.map((row) => (
        <SessionRow key={row.session.sessionId} {...row} />
      ))}
    </Rows>
  );
});

export const SessionRow = memo(function SessionRow({ session, match }: ListedSession) {
  const { tone, words } = sessionState(session);
  const waits = needsYou(session);
  // On a phone this goes below the title, which needs the width.
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
