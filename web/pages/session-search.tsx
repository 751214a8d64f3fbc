import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearchParams } from "react-router";
import { z } from "zod";
import { sessionStatusSchema } from "../../src/wire/coding.ts";
import { useAgents } from "../api/agents.ts";
import { useFolders, useSessionDirs } from "../api/folders.ts";
import type { SessionFilters, SessionsAsked } from "../api/sessions.ts";
import { useMay } from "../api/sign-in.ts";
import { SearchField, SelectFilter } from "../ui/field.tsx";
import { agentName, shortPath } from "../ui/session-state.ts";

/** Parses the address, so that a list can be bookmarked and shared. */
export function parseAsked(params: URLSearchParams): SessionsAsked {
  const status = sessionStatusSchema.safeParse(params.get("status"));
  return {
    query: params.get("q")?.trim() ?? "",
    everywhere: params.get("in") === "all",
    filters: {
      agent: params.get("agent") ?? "",
      dir: params.get("dir") ?? "",
      status: status.success ? status.data : "",
    },
  };
}

export function formatAsked({ query, everywhere, filters }: SessionsAsked): Record<string, string> {
  const { agent, dir, status } = filters;
  const all = { q: query, in: everywhere ? "all" : "", agent, dir, status };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
}

export function useAsked(): readonly [
  SessionsAsked,
  (changes: Partial<Omit<SessionsAsked, "filters">> & Partial<SessionFilters>) => void,
] {
  const [params, setParams] = useSearchParams();
  const asked = useMemo(() => parseAsked(params), [params]);
  const change = useCallback(
    ({ query, everywhere, ...filters }: Partial<Omit<SessionsAsked, "filters">> & Partial<SessionFilters>) => {
      setParams(
        (before) => {
          const was = parseAsked(before);
          return formatAsked({
            query: query ?? was.query,
            everywhere: everywhere ?? was.everywhere,
            filters: { ...was.filters, ...filters },
          });
        },
        { replace: true },
      );
    },
    [setParams],
  );
  return [asked, change];
}

/** Delay between the last key and the search: too short to notice. */
const typingMs = 140;

/** Set by the `/` shortcut. */
const focusSchema = z.object({ state: z.object({ focus: z.literal("search") }) });

const statuses = [
  ["running", "Running"],
  ["initializing", "Starting"],
  ["completed", "Ended"],
  ["failed", "Failed"],
] as const;

export function SessionSearch({ asked: [asked, change] }: { readonly asked: ReturnType<typeof useAsked> }) {
  const location = useLocation();
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(asked.query);
  const { agents = [], availableAgents = [] } = useAgents().data ?? {};
  const folders = useFolders({ enabled: useMay("admin") }).data ?? [];
  const { data: dirs = [] } = useSessionDirs();
  const { agent, dir, status } = asked.filters;
  const worked = dirs.map((each) => each.dir);
  const folderChoices = [...new Set([...folders.map(({ path }) => path), ...worked, ...(dir === "" ? [] : [dir])])];

  useEffect(() => {
    if (focusSchema.safeParse(location).success) input.current?.select();
  }, [location]);
  useEffect(() => {
    const query = typed.trim();
    if (query === asked.query) return;
    const timer = setTimeout(() => change({ query }), typingMs);
    return () => clearTimeout(timer);
  }, [typed, asked.query, change]);

  return (
    <search className="mb-4 flex flex-col gap-2">
      <SearchField ref={input} label="Search sessions" maxLength={1_000} typed={typed} onTyped={setTyped} />
      <div className="grid grid-cols-3 items-center gap-2 sm:flex sm:flex-wrap">
        <SelectFilter label="Agent" value={agent} onChange={(event) => change({ agent: event.target.value })}>
          <option value="">Agents</option>
          {[...agents, ...availableAgents].map(({ name }) => (
            <option key={name} value={name}>
              {agentName(name)}
            </option>
          ))}
        </SelectFilter>
        <SelectFilter
          label="Folder"
          value={dir}
          onChange={(event) => change({ dir: event.target.value })}
          className="sm:max-w-56"
        >
          <option value="">Folders</option>
          {folderChoices.map((path) => (
            <option key={path} value={path} title={path}>
              {shortPath(path)}
            </option>
          ))}
        </SelectFilter>
        <SelectFilter
          label="Status"
          value={status}
          onChange={(event) => change({ status: statuses.find(([value]) => value === event.target.value)?.[0] ?? "" })}
        >
          <option value="">Status</option>
          {statuses.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectFilter>
        {asked.query !== "" && (
          <SelectFilter
            label="Search in"
            className="col-span-3"
            value={asked.everywhere ? "all" : "title"}
            onChange={(event) => change({ everywhere: event.target.value === "all" })}
          >
            <option value="title">Titles and first messages</option>
            <option value="all">Full conversations</option>
          </SelectFilter>
        )}
      </div>
    </search>
  );
}
