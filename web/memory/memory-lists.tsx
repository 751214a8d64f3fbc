import { X } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link, NavLink, useSearchParams } from "react-router";
import { logSessionIdSchema, logSourceSchema, logStatusSchema } from "../../src/wire/logs.ts";
import type { LogFilters } from "../api/logs.ts";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { SearchField, SelectFilter } from "../ui/field.tsx";
import { EmptyState } from "../ui/notice.tsx";

export interface MemoryAsked {
  readonly query: string;
  readonly filters: LogFilters;
}

/** Parses the address; invalid parts are ignored. */
export function parseMemoryAsked(params: URLSearchParams): MemoryAsked {
  const source = logSourceSchema.safeParse(params.get("source")).data;
  const status = logStatusSchema.safeParse(params.get("status")).data;
  const sessionId = logSessionIdSchema.safeParse(params.get("sessionId")).data;
  return {
    query: params.get("q")?.trim() ?? "",
    filters: {
      ...(source === undefined ? {} : { source }),
      ...(status === undefined ? {} : { status }),
      ...(sessionId === undefined ? {} : { sessionId }),
    },
  };
}

/** Changes search parameters; an empty string removes one. */
export function useChangeParams<Name extends string>(): (changes: Partial<Readonly<Record<Name, string>>>) => void {
  const [, setParams] = useSearchParams();
  return useCallback(
    (changes) =>
      setParams(
        (before) =>
          Object.fromEntries(
            Object.entries<string>({ ...Object.fromEntries(before), ...changes }).filter(([, value]) => value !== ""),
          ),
        { replace: true },
      ),
    [setParams],
  );
}

export function useMemoryAsked() {
  const [params] = useSearchParams();
  const asked = useMemo(() => parseMemoryAsked(params), [params]);
  return [asked, useChangeParams<"q" | "source" | "status" | "sessionId">()] as const;
}

/** Delay between the last key and the search: too short to notice. */
const typingMs = 180;

/** The text in the search box: the user's input, until the query changes elsewhere (a link, Back). */
function useTyped(query: string, onQuery: (query: string) => void) {
  const [typed, setTyped] = useState(query);
  /** Queries that were passed to `onQuery`, but do not appear in `query` yet. */
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

export function SearchBox(props: {
  readonly label: string;
  readonly query: string;
  readonly onQuery: (query: string) => void;
}) {
  const { label, query, onQuery } = props;
  const [typed, setTyped] = useTyped(query, onQuery);
  return <SearchField label={label} maxLength={200} typed={typed} onTyped={setTyped} />;
}

export function MemorySearch({
  asked: [{ query, filters }, change],
  sessionTitle,
}: {
  readonly asked: ReturnType<typeof useMemoryAsked>;
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

const tabs = [
  { to: "/memory", label: "Entries" },
  { to: "/memory/entities", label: "Topics" },
] as const;

export function MemoryTabs() {
  return (
    <nav aria-label="Memory" className="mb-4 flex gap-4 border-b border-line">
      {tabs.map(({ to, label }) => (
        <NavLink
          key={to}
          to={to}
          end
          className={({ isActive }) =>
            classNames(
              "-mb-px border-b-2 px-0.5 pb-1.5 text-sm font-medium pointer-coarse:py-2.5",
              isActive ? "border-accent text-ink" : "border-transparent text-ink-soft hover:text-ink",
            )
          }
        >
          {label}
        </NavLink>
      ))}
    </nav>
  );
}

export function AboutMemory() {
  return (
    <EmptyState title="Memory is empty">
      <p>
        Postern can store what was asked and answered in each session, and extract what was decided, which files were
        edited, and which commands were run and how they ended. It stays here even after the session is gone.
      </p>
      <dl className="mx-auto mt-4 grid max-w-sm grid-cols-[auto_1fr] gap-x-3 gap-y-1.5 text-left text-xs">
        <dt className="col-span-2">
          Set <code className="text-ink-soft">memory.record</code> in the gateway’s{" "}
          <code className="text-ink-soft">config.json</code> to choose when:
        </dt>
        <dt>
          <code className="text-ink-soft">close</code>
        </dt>
        <dd>when a session ends, by default</dd>
        <dt>
          <code className="text-ink-soft">turn</code>
        </dt>
        <dd>also after each turn</dd>
        <dt>
          <code className="text-ink-soft">off</code>
        </dt>
        <dd>only when you save a session, on its page under “Memory”</dd>
      </dl>
      <p className="mt-4">
        Programs can add entries with{" "}
        <a href="/docs" className="text-accent underline underline-offset-2">
          the API
        </a>
        , and you can add notes. To get started, open{" "}
        <Link to="/" className="text-accent underline underline-offset-2">
          a session
        </Link>
        .
      </p>
    </EmptyState>
  );
}
