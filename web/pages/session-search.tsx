import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearchParams } from "react-router";
import { z } from "zod";
import { sessionStatusSchema } from "../../src/wire/coding.ts";
import { useAgents } from "../api/agents.ts";
import { useFolders, useSessionDirs } from "../api/folders.ts";
import { type SessionFilters, type SessionsAsked, sessionGroups, useLabels } from "../api/sessions.ts";
import { useMay } from "../api/sign-in.ts";
import { SearchField, SelectFilter } from "../ui/field.tsx";
import { agentName, shortPath } from "../ui/session-state.ts";

/** Parses the address, so that a list can be bookmarked and shared. */
export function parseAsked(params: URLSearchParams): SessionsAsked {
  const status = sessionStatusSchema.safeParse(params.get("status"));
  return {
    query: params.get("q")?.trim() ?? "",
    everywhere: params.get("in") === "all",
    group: sessionGroups.find((group) => group === params.get("group")) ?? "",
    filters: {
      agent: params.get("agent") ?? "",
      dir: params.get("dir") ?? "",
      status: status.success ? status.data : "",
      label: params.get("label") ?? "",
      show: shows.find(([value]) => value === params.get("show"))?.[0] ?? "",
    },
  };
}

export function formatAsked({ query, everywhere, group, filters }: SessionsAsked): Record<string, string> {
  const { agent, dir, status, label, show } = filters;
  const all = { q: query, in: everywhere ? "all" : "", group, agent, dir, status, label, show };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
}

export function useAsked(): readonly [
  SessionsAsked,
  (changes: Partial<Omit<SessionsAsked, "filters">> & Partial<SessionFilters>) => void,
] {
  const [params, setParams] = useSearchParams();
  const asked = useMemo(() => parseAsked(params), [params]);
  const change = useCallback(
    ({ query, everywhere, group, ...filters }: Partial<Omit<SessionsAsked, "filters">> & Partial<SessionFilters>) => {
      setParams(
        (before) => {
          const was = parseAsked(before);
          return formatAsked({
            query: query ?? was.query,
            everywhere: everywhere ?? was.everywhere,
            group: group ?? was.group,
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

const shows = [
  ["pinned", "Pinned"],
  ["archived", "Archived"],
] as const;

const groupWords = { day: "day", folder: "folder", agent: "agent", label: "label" } as const;

export function SessionSearch({ asked: [asked, change] }: { readonly asked: ReturnType<typeof useAsked> }) {
  const location = useLocation();
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(asked.query);
  const { agents = [], availableAgents = [] } = useAgents().data ?? {};
  const folders = useFolders({ enabled: useMay("admin") }).data ?? [];
  const { data: dirs = [] } = useSessionDirs();
  const { data: labels = [] } = useLabels();
  const { agent, dir, status, label, show } = asked.filters;
  const labelChoices = [...new Set([...labels.map((each) => each.label), ...(label === "" ? [] : [label])])];
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
          {statuses.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </SelectFilter>
        <SelectFilter
          label="Show"
          value={show}
          onChange={(event) => change({ show: shows.find(([value]) => value === event.target.value)?.[0] ?? "" })}
        >
          <option value="">Current</option>
          {shows.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </SelectFilter>
        {labelChoices.length > 0 && (
          <SelectFilter
            label="Label"
            value={label}
            onChange={(event) => change({ label: event.target.value })}
            className="sm:max-w-40"
          >
            <option value="">Labels</option>
            {labelChoices.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </SelectFilter>
        )}
        {asked.query === "" && (
          <SelectFilter
            label="Group by"
            className="sm:ml-auto"
            value={asked.group}
            onChange={(event) => change({ group: sessionGroups.find((group) => group === event.target.value) ?? "" })}
          >
            <option value="">No groups</option>
            {sessionGroups.map((group) => (
              <option key={group} value={group}>
                By {groupWords[group]}
              </option>
            ))}
          </SelectFilter>
        )}
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
