import { Plus } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { Link } from "react-router";
import { useAgents } from "../api/agents.ts";
import { useMay } from "../api/me.ts";
import {
  type ListedSession,
  noFilters,
  type SessionPages,
  useLiveSessions,
  useSessionList,
  useSessionSearch,
} from "../api/sessions.ts";
import { listShortcuts } from "../app/list-shortcuts.ts";
import { useShortcuts } from "../app/shortcuts.ts";
import { Button, buttonClass } from "../ui/button.tsx";
import { NextPage } from "../ui/next-page.tsx";
import { EmptyState, ErrorNotice, LoadingRows } from "../ui/notice.tsx";
import { Page, Rows } from "../ui/page.tsx";
import { needsYou } from "../ui/session-state.ts";
import { useAsked } from "./session-filters.ts";
import { SessionRow } from "./session-row.tsx";
import { SessionSearch } from "./session-search.tsx";

/** All sessions: who needs somebody, who lives, and what was before. */
export function SessionsPage() {
  const asked = useAsked();
  const [{ query, everywhere, filters }, change] = asked;
  const mayWrite = useMay("coding:write");
  const searching = query !== "";
  const list = useSessionList(filters, { enabled: !searching });
  const search = useSessionSearch({ query, everywhere }, filters);
  const live = useLiveSessions({ ...filters, status: "" });
  const shown = searching ? search : list;
  const rows = useMemo(() => allRows(shown.data), [shown.data]);
  // A status asks for one flat list; so does a search.
  const groups = useMemo(() => {
    if (searching || filters.status !== "") return { waiting: [], lively: [], rest: rows };
    const alive = (live.data ?? []).map((session) => ({ session, match: null }));
    const ids = new Set(alive.map(({ session }) => session.sessionId));
    return {
      waiting: alive.filter(({ session }) => needsYou(session)),
      lively: alive.filter(({ session }) => !needsYou(session)),
      rest: rows.filter(({ session }) => !ids.has(session.sessionId)),
    };
  }, [searching, filters.status, live.data, rows]);
  useShortcuts(sessionListShortcuts);

  const nothing = groups.waiting.length + groups.lively.length + groups.rest.length === 0;
  const unfiltered = !searching && JSON.stringify(filters) === JSON.stringify(noFilters);
  const indexing = shown.data?.pages[0]?.indexing ?? null;
  return (
    <Page
      title="Sessions"
      actions={
        // Where the sidebar is, it has one.
        mayWrite && (
          <Link to="/new" className={`${buttonClass({ variant: "primary" })} lg:hidden`}>
            <Plus aria-hidden className="size-4" /> New session
          </Link>
        )
      }
    >
      <SessionSearch asked={asked} />
      {shown.error !== null && <ErrorNotice error={shown.error} onRetry={() => void shown.refetch()} />}
      {indexing !== null && (
        <p role="status" className="mb-3 text-xs text-ink-faint">
          Older sessions are still being read: {indexing.done} of {indexing.total} transcripts.
        </p>
      )}
      <Group title="Needs you" rows={groups.waiting} />
      <Group title="Live" rows={groups.lively} />
      <Group
        title={searching ? "Found" : filters.status === "" ? "Recent" : "Sessions"}
        rows={groups.rest}
        note={searching && shown.data !== undefined ? `${shown.data.pages[0]?.total ?? 0}` : undefined}
      >
        <NextPage
          key={rows.length}
          label="More sessions"
          has={shown.hasNextPage}
          busy={shown.isFetchingNextPage}
          onNext={() => void shown.fetchNextPage()}
        />
      </Group>
      {nothing && shown.isPending && <LoadingRows label="Loading sessions" />}
      {nothing && shown.isSuccess && !shown.hasNextPage && (
        <Nothing
          unfiltered={unfiltered}
          mayWrite={mayWrite}
          onWiden={searching && !everywhere ? () => change({ everywhere: true }) : undefined}
        />
      )}
    </Page>
  );
}

function allRows(data: SessionPages | undefined): readonly ListedSession[] {
  const rows = data?.pages.flatMap((page) => page.listed) ?? [];
  // Between two pages a session may have moved from one to the other.
  return [...new Map(rows.map((row) => [row.session.sessionId, row])).values()];
}

function Group({
  title,
  rows,
  note,
  children,
}: {
  readonly title: string;
  readonly rows: readonly ListedSession[];
  readonly note?: string | undefined;
  readonly children?: ReactNode;
}) {
  return (
    <section aria-label={title} hidden={rows.length === 0} className="mb-6">
      <h2 className="label-caps mb-1.5 px-1">
        {title} {note !== undefined && <span className="font-normal">{note}</span>}
      </h2>
      <Rows label={title}>
        {rows.map((row) => (
          <SessionRow key={row.session.sessionId} {...row} />
        ))}
      </Rows>
      {children}
    </section>
  );
}

function Nothing({
  unfiltered,
  mayWrite,
  onWiden,
}: {
  readonly unfiltered: boolean;
  readonly mayWrite: boolean;
  readonly onWiden: (() => void) | undefined;
}) {
  const mayAdminister = useMay("admin");
  const { data: agents } = useAgents();
  if (!unfiltered) {
    return (
      <EmptyState title="No session fits.">
        <p className="mb-3">Other words, or fewer filters, may find it.</p>
        {onWiden !== undefined && <Button onClick={onWiden}>Search in everything that was said</Button>}
      </EmptyState>
    );
  }
  if (mayAdminister && agents?.agents.length === 0) return <FirstRun />;
  if (!mayWrite) return <EmptyState title="No sessions yet." />;
  return (
    <EmptyState title="No sessions yet.">
      <p className="mb-3">
        Start one here, from the command line, or with any program that has a token. All of them show up in this list.
      </p>
      <Link to="/new" className={buttonClass({ variant: "primary" })}>
        Start the first session
      </Link>
    </EmptyState>
  );
}

function FirstRun() {
  return (
    <EmptyState title="Set up an agent first.">
      <p className="mb-3">
        An agent, such as Claude Code or Codex, runs each session on this machine. “Agents” shows which ones are here,
        and installs what is missing.
      </p>
      <Link to="/agents" className={buttonClass({ variant: "primary" })}>
        Set up an agent
      </Link>
    </EmptyState>
  );
}

const sessionListShortcuts = listShortcuts("a[data-session-link]", "session");
