import { useEffect, useRef, useState } from "react";
import { useLocation } from "react-router";
import { z } from "zod";
import { useAgents } from "../api/agents.ts";
import { useFolders, useSessionDirs } from "../api/folders.ts";
import { useMay } from "../api/me.ts";
import { SearchField, SelectFilter } from "../ui/field.tsx";
import { agentName, shortPath } from "../ui/session-state.ts";
import type { useAsked } from "./session-filters.ts";

/** Between the last key and the search: too short to notice. */
const typingMs = 140;

/** Where the shortcut leads. */
const focusSchema = z.object({ state: z.object({ focus: z.literal("search") }) });

const statuses = [
  ["running", "Running"],
  ["initializing", "Starting"],
  ["completed", "Ended"],
  ["failed", "Failed"],
] as const;

/** Search as you type, and filters. `/` on any page leads here. */
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
