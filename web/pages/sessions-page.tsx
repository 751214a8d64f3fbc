import { Plus } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo } from "react";
import { Link } from "react-router";
import { useAgents } from "../api/agents.ts";
import { type ListedSession, noFilters, sessionPageSize, useLiveSessions, useSessionPage } from "../api/sessions.ts";
import { useMay } from "../api/sign-in.ts";
import { listShortcuts, useShortcuts } from "../app/shortcuts.ts";
import { useBulk } from "../list/bulk-run.ts";
import { useRememberedGroup, useToggle } from "../list/list-state.ts";
import { clearSelection, startSelection, useIsSelecting } from "../list/selection.ts";
import { Button, buttonClass } from "../ui/button.tsx";
import { EmptyState, ErrorNotice, LoadingRows } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";
import { needsYou } from "../ui/session-state.ts";
import { type OnToggle, RowsOf, SessionList } from "./session-list.tsx";
import { SessionSearch, useAsked } from "./session-search.tsx";

const BulkBar = lazy(async () => ({ default: (await import("../list/bulk-bar.tsx")).BulkBar }));

export function SessionsPage() {
  const asked = useAsked();
  const [what, change] = asked;
  const { query, everywhere, filters } = what;
  const mayWrite = useMay("coding:write");
  const searching = query !== "";
  const first = useSessionPage(what, 0);
  const live = useLiveSessions({ ...filters, status: "" });
  // A filter by status, the archive and a search show one flat list.
  const flat = searching || filters.status !== "" || filters.show !== "";
  const alive = flat ? undefined : live.data;
  const pinned = useSessionPage({ ...what, filters: { ...filters, show: "pinned" } }, 0, { enabled: !flat });
  const pinnedRows = flat ? undefined : pinned.data?.listed;
  const grouped = what.group !== "";
  const groups = useMemo(() => {
    const rows = (alive ?? []).map((session) => ({ session, match: null }));
    const waiting = rows.filter(({ session }) => needsYou(session));
    const isWaiting = new Set(waiting.map(({ session }) => session.sessionId));
    const pins = (pinnedRows ?? []).filter(({ session }) => !session.archived && !isWaiting.has(session.sessionId));
    const isPinned = new Set(pins.map(({ session }) => session.sessionId));
    const lively = grouped
      ? []
      : rows.filter(
          ({ session }) => !isWaiting.has(session.sessionId) && !isPinned.has(session.sessionId) && !session.archived,
        );
    const above = [...waiting, ...pins, ...lively];
    return { waiting, pins, lively, above, ids: new Set(above.map(({ session }) => session.sessionId)) };
  }, [alive, pinnedRows, grouped]);
  const total = first.data?.total ?? 0;
  const hasRest =
    total > sessionPageSize || first.data?.listed.some(({ session }) => !groups.ids.has(session.sessionId)) === true;
  useShortcuts(sessionListShortcuts);
  useRememberedGroup(what.group, change);
  const address = JSON.stringify(what);
  // Sessions hidden by the filters are not selected.
  useEffect(() => startSelection(address), [address]);
  useEffect(() => clearSelection, []);
  const onToggle = useToggle(what, groups.above);
  const selecting = useIsSelecting();
  const { run, failures } = useBulk();

  const nothing = groups.ids.size === 0 && !hasRest;
  const unfiltered = !searching && JSON.stringify(filters) === JSON.stringify(noFilters);
  const indexing = first.data?.indexing ?? null;
  return (
    <Page
      title="Sessions"
      actions={
        // The sidebar has this button too.
        mayWrite && (
          <Link to="/new" className={`${buttonClass({ variant: "primary" })} lg:hidden`}>
            <Plus aria-hidden className="size-4" /> New session
          </Link>
        )
      }
    >
      <SessionSearch asked={asked} />
      <ErrorNotice error={first.error} onRetry={() => void first.refetch()} />
      {indexing !== null && (
        <p role="status" className="mb-3 text-xs text-ink-faint">
          Indexing older sessions: {indexing.done} of {indexing.total} transcripts.
        </p>
      )}
      {(selecting || run !== null || failures.length > 0) && (
        <Suspense>
          <BulkBar />
        </Suspense>
      )}
      <Group title="Needs you" rows={groups.waiting} onToggle={onToggle} />
      <Group title="Pinned" rows={groups.pins} onToggle={onToggle} />
      <Group title="Running" rows={groups.lively} onToggle={onToggle} />
      {hasRest && (
        <SessionList
          title={searching ? "Found" : flat || grouped ? "Sessions" : "Recent"}
          asked={what}
          total={total}
          without={groups.ids}
          counted={searching}
          onToggle={onToggle}
        />
      )}
      {nothing && first.isPending && <LoadingRows label="Loading sessions" />}
      {nothing && first.isSuccess && (
        <Nothing
          unfiltered={unfiltered}
          mayWrite={mayWrite}
          onWiden={searching && !everywhere ? () => change({ everywhere: true }) : undefined}
        />
      )}
    </Page>
  );
}

function Group(props: {
  readonly title: string;
  readonly rows: readonly ListedSession[];
  readonly onToggle: OnToggle;
}) {
  const { title, rows, onToggle } = props;
  return (
    <section aria-label={title} hidden={rows.length === 0} className="mb-6">
      <h2 className="label-caps mb-1.5 px-1">{title}</h2>
      <RowsOf label={title} rows={rows} onToggle={onToggle} framed />
    </section>
  );
}

function Nothing(props: {
  readonly unfiltered: boolean;
  readonly mayWrite: boolean;
  readonly onWiden: (() => void) | undefined;
}) {
  const { unfiltered, mayWrite, onWiden } = props;
  const mayAdminister = useMay("admin");
  const { data: agents } = useAgents();
  if (!unfiltered) {
    return (
      <EmptyState title="No matching sessions">
        <p className="mb-3">Try other words or fewer filters.</p>
        {onWiden !== undefined && <Button onClick={onWiden}>Search full conversations</Button>}
      </EmptyState>
    );
  }
  if (mayAdminister && agents?.agents.length === 0) return <FirstRun />;
  if (!mayWrite) return <EmptyState title="No sessions yet" />;
  return (
    <EmptyState title="No sessions yet">
      <p className="mb-3">Start one here, from the command line, or from any program with a token.</p>
      <Link to="/new" className={buttonClass({ variant: "primary" })}>
        Start a session
      </Link>
    </EmptyState>
  );
}

function FirstRun() {
  return (
    <EmptyState title="Set up an agent first">
      <p className="mb-3">
        An agent, such as Claude Code or Codex, runs each session on this machine. Set one up on the Agents page, which
        can also install it.
      </p>
      <Link to="/agents" className={buttonClass({ variant: "primary" })}>
        Set up agent
      </Link>
    </EmptyState>
  );
}

const sessionListShortcuts = listShortcuts("a[data-session-link]", "session");
