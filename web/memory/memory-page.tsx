import { NotebookPen } from "lucide-react";
import { useState } from "react";
import { type LogFilters, useLogSearch, useLogs, useSessionTitles } from "../api/logs.ts";
import { useMay } from "../api/me.ts";
import { listShortcuts, useShortcuts } from "../app/shortcuts.ts";
import { counted } from "../session/session-words.ts";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { EmptyState, Notice, QueryState } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";
import { DayRows, NextPage, Rows } from "../ui/rows.tsx";
import { plainName } from "../ui/untrusted.tsx";
import { EntryRow } from "./entry-row.tsx";
import { MarkedText } from "./marked-text.tsx";
import { useMemoryAsked } from "./memory-asked.ts";
import { MemorySearch } from "./memory-search.tsx";
import { AboutMemory, MemoryTabs } from "./memory-tabs.tsx";
import { NoteDialog } from "./note-dialog.tsx";
import { SessionMemory } from "./session-memory.tsx";

const memoryListShortcuts = listShortcuts("a[data-log-link]", "entry");

/** What is remembered of sessions and notes, by time, and to be searched. */
export function MemoryPage() {
  const asked = useMemoryAsked();
  const [{ query, filters }] = asked;
  const mayWrite = useMay("logs:write");
  const titles = useSessionTitles();
  const [writing, setWriting] = useState(false);
  const { sessionId } = filters;
  const sessionTitle = sessionId === undefined ? null : plainName(titles.get(sessionId) ?? `Session ${sessionId}`);
  useShortcuts(memoryListShortcuts);
  return (
    <Page
      title="Memory"
      description="What was asked, decided, changed and run in your sessions, and your notes. You can search and permanently delete everything."
      actions={
        mayWrite && (
          <Button icon={NotebookPen} onClick={() => setWriting(true)}>
            Add note…
          </Button>
        )
      }
    >
      <MemoryTabs />
      <MemorySearch asked={asked} sessionTitle={sessionTitle} />
      {sessionId !== undefined && sessionTitle !== null && (
        <SessionMemory key={sessionId} sessionId={sessionId} title={sessionTitle} />
      )}
      {query === "" ? <Timeline filters={filters} /> : <Found query={query} filters={filters} />}
      {writing && <NoteDialog onClose={() => setWriting(false)} />}
    </Page>
  );
}

function Timeline({ filters }: { readonly filters: LogFilters }) {
  const logs = useLogs(filters);
  const entries = logs.data?.pages.flatMap((page) => page.logs) ?? [];
  const filtered = Object.keys(filters).length > 0;
  return (
    <>
      <QueryState query={logs} label="Loading entries" />
      {logs.isSuccess && entries.length === 0 && <Nothing filters={filters} filtered={filtered} />}
      <DayRows
        things={entries}
        atOf={({ observedAt }) => observedAt}
        stale={logs.isPlaceholderData}
        renderRow={(entry) => <EntryRow key={entry.logId} entry={entry} />}
      />
      <NextPage
        key={entries.length}
        label="Older entries"
        has={logs.hasNextPage}
        busy={logs.isFetchingNextPage}
        onNext={() => void logs.fetchNextPage()}
      />
    </>
  );
}

function Nothing({ filters, filtered }: { readonly filters: LogFilters; readonly filtered: boolean }) {
  if (!filtered) return <AboutMemory />;
  const ofSession = filters.sessionId !== undefined && Object.keys(filters).length === 1;
  return ofSession ? (
    <EmptyState title="Nothing in memory for this session" />
  ) : (
    <EmptyState title="No matching entries">Try fewer filters.</EmptyState>
  );
}

function Found({ query, filters }: { readonly query: string; readonly filters: LogFilters }) {
  const search = useLogSearch(query, filters);
  const hits = search.data?.hits ?? [];
  return (
    <>
      <QueryState query={search} label="Searching" />
      <p role="status" className="label-caps mb-1.5 min-h-4 px-1">
        {search.isSuccess && !search.isPlaceholderData && foundWords(hits.length, search.data.hasMore)}
      </p>
      {search.data?.partial === true && (
        <div className="mb-3">
          <Notice>
            These words occur in many entries, so only the newest were searched. Add a word to find older ones.
          </Notice>
        </div>
      )}
      {search.isSuccess && hits.length === 0 && (
        <EmptyState title="No results">Try other words or fewer filters.</EmptyState>
      )}
      {hits.length > 0 && (
        <div className={classNames(search.isPlaceholderData && "opacity-60")}>
          <Rows label="Found">
            {hits.map(({ log, snippet }) => (
              <EntryRow key={log.logId} entry={log} found={<MarkedText text={snippet} query={query} />} />
            ))}
          </Rows>
        </div>
      )}
    </>
  );
}

function foundWords(count: number, hasMore: boolean): string {
  if (count === 0) return "";
  return hasMore ? `The best ${counted(count, "hit")}` : `Found ${counted(count, "hit")}`;
}
