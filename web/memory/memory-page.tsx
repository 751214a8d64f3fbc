import { NotebookPen } from "lucide-react";
import { useRef, useState } from "react";
import { useNavigate } from "react-router";
import { maxLogCharacters } from "../../src/wire/logs.ts";
import { fieldError } from "../api/api-error.ts";
import { type LogFilters, useLogSearch, useLogs, useSessionTitles, useSubmitLog } from "../api/logs.ts";
import { useMay, useMe } from "../api/sign-in.ts";
import { listShortcuts, useShortcuts } from "../app/shortcuts.ts";
import { idempotencyKey, keepNoteDraft, type NoteDraft, noteDraftOf } from "../session/drafts.ts";
import { counted } from "../session/session-words.ts";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Form, TextArea, TextField } from "../ui/field.tsx";
import { EmptyState, ErrorNotice, Notice, QueryState } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";
import { DayRows, NextPage, Rows } from "../ui/rows.tsx";
import { plainName } from "../ui/untrusted.tsx";
import { EntryRow, MarkedText } from "./entry-row.tsx";
import { AboutMemory, MemorySearch, MemoryTabs, useMemoryAsked } from "./memory-lists.tsx";
import { SessionMemory } from "./session-memory.tsx";

const memoryListShortcuts = listShortcuts("a[data-log-link]", "entry");

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

/** Creates a note. An unsaved draft lasts as long as the tab. */
export function NoteDialog({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const submit = useSubmitLog();
  const accountId = useMe().data?.account.accountId ?? "";
  const [draft, setDraft] = useState(() => noteDraftOf(sessionStorage, accountId));
  const { title, content } = draft;
  const written = title.trim() !== "" || content.trim() !== "";
  /** Resending the same note after a lost response does not save it twice. */
  const sending = useRef({ draft, key: "" });
  const change = (next: NoteDraft): void => {
    setDraft(next);
    keepNoteDraft(sessionStorage, accountId, next);
  };
  const forgetDraft = (): void => keepNoteDraft(sessionStorage, accountId, { title: "", content: "" });
  const keep = (): void => {
    if (submit.isPending || content.trim() === "") return;
    if (sending.current.draft !== draft || sending.current.key === "") {
      sending.current = { draft, key: idempotencyKey() };
    }
    const named = title.trim() === "" ? {} : { title: title.trim() };
    submit.mutate(
      { note: { ...named, content }, key: sending.current.key },
      {
        onSuccess: ({ logId }) => {
          forgetDraft();
          void navigate(`/memory/${encodeURIComponent(logId)}`);
        },
      },
    );
  };
  return (
    <Dialog
      onClose={onClose}
      holds={written}
      title="Add note"
      description="Stored in your account’s memory, next to your sessions."
    >
      <Form className="flex flex-col gap-3" onSubmit={keep}>
        <TextField
          label="Title"
          value={title}
          maxLength={500}
          onChange={(event) => change({ title: event.target.value, content })}
          error={fieldError(submit.error, "title")}
        />
        <TextArea
          label="Text"
          rows={6}
          required
          value={content}
          maxLength={maxLogCharacters}
          onChange={(event) => change({ title, content: event.target.value })}
          error={fieldError(submit.error, "content")}
          hint={
            <>
              A line <code>Decision: the timeout = 30 s</code> is stored as a decision that is current until the next
              one about it. A line <code>Remember: …</code> is stored as a reminder. Anything that looks like a key or a
              password is masked.
            </>
          }
        />
        <ErrorNotice error={submit.error} />
        <div className="flex justify-end gap-2">
          <Button
            onClick={() => {
              forgetDraft();
              onClose();
            }}
          >
            {written ? "Discard" : "Cancel"}
          </Button>
          <Button variant="primary" type="submit" busy={submit.isPending} disabled={content.trim() === ""}>
            Save note
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
