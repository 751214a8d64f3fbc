import { X } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { Button } from "../ui/button.tsx";
import { SearchField, SelectFilter } from "../ui/field.tsx";
import type { useMemoryAsked } from "./memory-asked.ts";

/** Between the last key and the search: too short to notice. */
const typingMs = 180;

/** What stands in the box: what is typed, until it is asked for elsewhere (a link, the way back). */
function useTyped(query: string, onQuery: (query: string) => void) {
  const [typed, setTyped] = useState(query);
  /** What was asked from here and did not come back as `query` yet. */
  const sent = useRef<string[]>([]);
  useEffect(() => {
    const at = sent.current.indexOf(query);
    sent.current = at === -1 ? [] : sent.current.slice(at + 1);
    if (at === -1) setTyped((now) => (now.trim() === query ? now : query));
  }, [query]);
  useEffect(() => {
    const next = typed.trim();
    if (next === query) return;
    const timer = setTimeout(() => {
      sent.current = [...sent.current, next];
      onQuery(next);
    }, typingMs);
    return () => clearTimeout(timer);
  }, [typed, query, onQuery]);
  return [typed, setTyped] as const;
}

export function SearchBox({
  label,
  query,
  onQuery,
}: {
  readonly label: string;
  readonly query: string;
  readonly onQuery: (query: string) => void;
}) {
  const [typed, setTyped] = useTyped(query, onQuery);
  return <SearchField label={label} maxLength={200} typed={typed} onTyped={setTyped} />;
}

/** Search in all that is remembered, and what the list is limited to. */
export function MemorySearch({
  asked: [{ query, filters }, change],
  sessionTitle,
}: {
  readonly asked: ReturnType<typeof useMemoryAsked>;
  /** Of the session that the list is limited to. */
  readonly sessionTitle: string | null;
}) {
  const onQuery = useCallback((q: string) => change({ q }), [change]);
  return (
    <search className="mb-4 flex flex-col gap-2">
      <SearchBox label="Search memory" query={query} onQuery={onQuery} />
      <div className="grid grid-cols-2 items-center gap-2 sm:flex sm:flex-wrap">
        <SelectFilter
          label="Source"
          value={filters.source ?? ""}
          onChange={({ target }) => change({ source: target.value })}
        >
          <option value="">All sources</option>
          <option value="session">Sessions</option>
          <option value="api">Notes and API</option>
        </SelectFilter>
        <SelectFilter
          label="Status"
          value={filters.status ?? ""}
          onChange={({ target }) => change({ status: target.value })}
        >
          <option value="">Any status</option>
          <option value="ready">Ready</option>
          <option value="pending">Processing</option>
          <option value="failed">Failed</option>
        </SelectFilter>
        {sessionTitle !== null && (
          <Button
            size="sm"
            icon={X}
            onClick={() => change({ sessionId: "" })}
            aria-label={`Show entries of all sessions, not only “${sessionTitle}”`}
            className="col-span-2 max-w-full min-w-0"
          >
            <span className="truncate">{sessionTitle}</span>
          </Button>
        )}
      </div>
    </search>
  );
}
