import { useQueryClient } from "@tanstack/react-query";
import { GitBranch, Pin } from "lucide-react";
import { memo, useEffect } from "react";
import { Link } from "react-router";
import type { SessionSummary } from "../../src/wire/coding.ts";
import {
  type ListedSession,
  type SessionGroup,
  type SessionsAsked,
  sessionPageQuery,
  sessionPageSize,
  useSessionPage,
} from "../api/sessions.ts";
import { useMay } from "../api/sign-in.ts";
import { LabelChip } from "../list/label-chip.tsx";
import { QuickAnswer, quickCommand } from "../list/quick-answer.tsx";
import { RowActions, TitleField } from "../list/row-actions.tsx";
import { refreshSelection, rename, useIsRenaming, useIsSelected, useIsSelecting } from "../list/selection.ts";
import { summaryOfTool, toolName } from "../session/tool-summary.ts";
import { Badge, Lamp } from "../ui/badge.tsx";
import { classNames } from "../ui/class-names.ts";
import { ErrorNotice } from "../ui/notice.tsx";
import { dayWords, Rows } from "../ui/rows.tsx";
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
  readonly onToggle: OnToggle;
}) {
  const { title, asked, total, without, counted, onToggle } = props;
  const pages = Math.ceil(total / sessionPageSize);
  const lastPx = (total - (pages - 1) * sessionPageSize) * rowPx;
  const { list, first, last, abovePx, belowPx } = useSight({ parts: pages, partPx: pagePx, lastPx });
  return (
    <section aria-label={title} className="mb-6">
      <h2 className="label-caps mb-1.5 px-1">
        {title} {counted && <span className="font-normal">{total}</span>}
      </h2>
      {/* Pages are replaced by empty space of the same height, so a browser that used one as its scroll anchor would jump by a page. */}
      <div ref={list} className="overflow-hidden rounded-xl border border-line bg-panel [overflow-anchor:none]">
        <Room px={abovePx} />
        {Array.from({ length: last - first + 1 }, (_, at) => first + at).map((page) => (
          <div key={page} data-part={page} className="border-line not-last:border-b">
            <SessionsOfPage {...{ title, asked, page, without, onToggle }} />
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
  readonly onToggle: OnToggle;
}) {
  const { title, asked, page, without, onToggle } = props;
  const client = useQueryClient();
  const { data, error, refetch } = useSessionPage(asked, page);
  useEffect(() => refreshSelection((data?.listed ?? []).map(({ session }) => session)), [data]);
  if (data === undefined) {
    return error === null ? (
      <div role="status" aria-label="Loading more sessions" data-more style={{ height: pagePx }} className="bg-panel" />
    ) : (
      <ErrorNotice error={error} onRetry={() => void refetch()} />
    );
  }
  const rows = data.listed.filter(({ session }) => !without.has(session.sessionId));
  if (rows.length === 0) return null;
  const label = page === 0 ? title : `${title}, page ${page + 1}`;
  if (asked.group === "" || asked.query !== "") return <RowsOf label={label} rows={rows} onToggle={onToggle} />;
  const before = page === 0 ? undefined : client.getQueryData(sessionPageQuery(asked, page - 1).queryKey);
  const last = before?.listed.at(-1);
  return groupsOf(rows, asked.group).map(({ key, rows: inGroup }, at) => (
    <section key={key ?? ""} aria-label={groupTitle(asked.group, key)} className="border-line not-last:border-b">
      {(at > 0 || last === undefined || groupKey(last, asked.group) !== key) && (
        <h3
          className="truncate border-b border-line bg-well px-4 py-1.5 text-xs font-medium text-ink-soft"
          title={key ?? undefined}
        >
          {groupTitle(asked.group, key)}
        </h3>
      )}
      <RowsOf label={groupTitle(asked.group, key)} rows={inGroup} onToggle={onToggle} />
    </section>
  ));
});

/** Selects or deselects a row; with `range`, also all rows between it and the one clicked before. */
export type OnToggle = (session: SessionSummary, range: boolean) => Promise<void>;

export function RowsOf(props: {
  readonly label: string;
  readonly rows: readonly ListedSession[];
  readonly onToggle: OnToggle;
  readonly framed?: boolean;
}) {
  const { label, rows, onToggle, framed = false } = props;
  return (
    <Rows label={label} bare={!framed}>
      {rows.map((row) => (
        <SessionRow key={row.session.sessionId} {...row} onToggle={onToggle} />
      ))}
    </Rows>
  );
}

interface RowGroup {
  readonly key: string | null;
  readonly rows: readonly ListedSession[];
}

function groupsOf(rows: readonly ListedSession[], group: SessionGroup): readonly RowGroup[] {
  const byKey = Map.groupBy(rows, (row) => groupKey(row, group));
  return [...byKey].map(([key, of]) => ({ key, rows: of }));
}

/** Days are those of the browser's time zone. */
function groupKey({ session, group: named }: ListedSession, group: SessionGroup | ""): string | null {
  return group === "day" ? new Date(session.updatedAt).toDateString() : (named ?? null);
}

function groupTitle(group: SessionGroup | "", key: string | null): string {
  if (key === null) return "No label";
  if (group === "agent") return agentName(key);
  if (group === "folder") return shortPath(key);
  return group === "day" ? dayWords(key, Date.now()) : key;
}

const SessionRow = memo(function SessionRow({
  session,
  match,
  onToggle,
}: ListedSession & { readonly onToggle: OnToggle }) {
  const { tone, words } = sessionState(session);
  const waits = needsYou(session);
  const mayWrite = useMay("coding:write");
  const mayDrive = useMay("coding:drive");
  const command = waits && mayDrive ? quickCommand(session) : null;
  const selected = useIsSelected(session.sessionId);
  const selecting = useIsSelecting();
  const renaming = useIsRenaming(session.sessionId);
  // While an agent works, everything would count as unread.
  const unread = session.unread && tone !== "working";
  // On a phone this goes below the title, which needs the width.
  const standing = (
    <>
      <State tone={tone} words={words} />
      <RelativeTime at={session.updatedAt} className="text-2xs text-ink-faint tabular-nums" />
    </>
  );
  const branch = session.worktree?.branch ?? session.branch;
  return (
    <li
      data-session-id={session.sessionId}
      className={classNames(
        "group relative flex items-start hover:bg-hover",
        waits && "bg-lamp-soft/60",
        selected && "bg-accent-soft/60",
      )}
    >
      {mayWrite && (
        <label
          className={classNames(
            "flex w-8 shrink-0 cursor-pointer items-center self-stretch pl-3",
            !selecting &&
              "pointer-coarse:hidden pointer-fine:opacity-0 group-hover:opacity-100 group-focus-within:opacity-100",
          )}
        >
          <input
            type="checkbox"
            aria-label={`Select ${sessionTitle(session)}`}
            checked={selected}
            // React's change event does not include modifier keys.
            onChange={() => undefined}
            onClick={(event) => void onToggle(session, event.shiftKey)}
            className="size-3.5 accent-(--color-accent-fill)"
          />
        </label>
      )}
      {renaming ? (
        <div className="min-w-0 flex-1 py-2 pl-2">
          <TitleField session={session} />
        </div>
      ) : (
        <div className="flex min-w-0 flex-1 flex-col">
          <Link
            to={`/sessions/${encodeURIComponent(session.sessionId)}`}
            data-session-link
            onKeyDown={(event) => {
              if (event.key !== "F2" || !mayWrite) return;
              event.preventDefault();
              rename(session.sessionId);
            }}
            className={classNames(
              "flex min-w-0 items-start gap-3 py-2.5 -outline-offset-2",
              mayWrite ? "pl-2 pointer-coarse:pl-4" : "px-4",
            )}
          >
            <Lamp tone={tone} className="mt-1" />
            <span className="min-w-0 flex-1">
              <span className="flex min-w-0 items-center gap-1.5">
                {unread && <span aria-hidden className="size-2 shrink-0 rounded-full bg-accent-fill" />}
                {session.pinned && <Pin aria-label="Pinned" className="size-3 shrink-0 text-ink-faint" />}
                <span
                  className={classNames(
                    "line-clamp-2 min-w-0 sm:block sm:truncate",
                    unread ? "font-semibold" : "font-medium",
                  )}
                >
                  {unread && <span className="sr-only">Unread: </span>}
                  {sessionTitle(session)}
                </span>
                {session.archived && <Badge>Archived</Badge>}
                <span className="flex min-w-0 shrink gap-1 overflow-hidden max-sm:hidden">
                  {session.labels.map((label) => (
                    <LabelChip key={label} label={label} />
                  ))}
                </span>
              </span>
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
              <span className="mt-0.5 flex flex-wrap items-center gap-x-2 gap-y-1 sm:hidden">
                {standing}
                {session.labels.map((label) => (
                  <LabelChip key={label} label={label} />
                ))}
              </span>
              {match !== null && match.field !== "title" && (
                <span className="mt-0.5 line-clamp-2 text-xs text-ink-soft">{match.snippet}</span>
              )}
              {waits && command === null && session.permissions[0] !== undefined && (
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
          {command !== null && <QuickAnswer session={session} command={command} />}
        </div>
      )}
      {mayWrite && (
        <span className="flex w-11 shrink-0 justify-center pt-2 pointer-coarse:pt-1">
          <RowActions session={session} onSelect={() => void onToggle(session, false)} />
        </span>
      )}
    </li>
  );
});

function State({ tone, words }: ReturnType<typeof sessionState>) {
  if (tone === "needs-you" || tone === "limited") return <Badge tone="lamp">{words}</Badge>;
  if (tone === "failed") return <Badge tone="danger">{words}</Badge>;
  if (tone === "ended") return <span className="text-2xs leading-5 text-ink-faint">{words}</span>;
  return <Badge tone="accent">{words}</Badge>;
}
