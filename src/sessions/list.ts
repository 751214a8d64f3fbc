import type { AgentTemplate } from "../agents/index.ts";
import type { Catalog, NotedFilter } from "../catalog/index.ts";
import { findSessions, sessionDirs } from "../catalog/index.ts";
import type { Caller } from "../wire/caller.ts";
import type { ListInput, ListOutput } from "../wire/session-lists.ts";
import { firstPageMs, type VisibleDirs } from "./dirs.ts";
import { labelFrom } from "./edit.ts";
import { sessionError } from "./errors.ts";
import { noteKey } from "./session-notes.ts";
import type { AliveNow, SessionPages } from "./session-pages.ts";

const defaultLimit = 20;

/**
 * `coding_list_sessions`: every session with a transcript on this machine, and the sessions of this gateway without one, most recently
 * updated first.
 * @see the specification, "coding_list_sessions"
 */
export function createList(deps: CatalogViewDeps): (input: ListInput, caller: Caller) => Promise<ListOutput> {
  return async (input, caller) => {
    const { reader, agents, dirs, alive, indexing } = await viewCatalog(deps, input, caller);
    const { limit = defaultLimit, offset = 0 } = input;
    const { rows, total } = await findSessions(
      reader,
      {
        agents,
        anyAgent: input.agent === undefined,
        dirs: dirs === null ? null : [...dirs],
        since: input.since === undefined ? null : Date.parse(input.since),
        status: input.status ?? null,
        idPrefix: input.idPrefix ?? null,
        noted: notedFilter(input, alive, input.idPrefix === undefined ? false : "any"),
        alive,
        partial: indexing !== null,
      },
      { limit, offset, group: input.group },
    );
    const summaries = await deps.pages.summaries(rows, alive, caller.accountId);
    const groupOf = new Map(rows.map((row) => [noteKey(row), row.group]));
    const sessions = summaries.map((summary) =>
      input.group === undefined ? summary : { ...summary, group: groupOf.get(noteKey(summary)) ?? null },
    );
    return { sessions, total, limit, offset, hasMore: offset + rows.length < total, indexing };
  };
}

export interface CatalogViewDeps {
  readonly catalog: Pick<Catalog, "database" | "firstPage" | "indexing">;
  readonly pages: SessionPages;
  readonly visibleDirs: VisibleDirs;
  readonly templates: readonly AgentTemplate[];
}

/** The part of the catalog that a caller asks for and may see. */
export interface CatalogView {
  readonly reader: Awaited<ReturnType<Catalog["database"]>>;
  readonly agents: readonly string[];
  /** Only sessions in these directories; null for all, including directories that appear during the search. */
  readonly dirs: ReadonlySet<string> | null;
  readonly alive: AliveNow;
  readonly indexing: ReturnType<Catalog["indexing"]>;
}

/** @param archived the default if the input has none */
export function notedFilter(
  input: Pick<ListInput, "archived" | "pinned" | "label">,
  { needing }: Pick<AliveNow, "needing">,
  archived: boolean | "any",
): NotedFilter {
  return {
    archived: input.archived ?? archived,
    needing,
    pinned: input.pinned ?? null,
    label: input.label === undefined ? null : labelFrom(input.label),
  };
}

const root = "/";

/** @throws PosternError `agent_unknown`, `invalid_request` */
export async function viewCatalog(
  { catalog, pages, visibleDirs, templates }: CatalogViewDeps,
  wanted: Pick<ListInput, "agent" | "dir">,
  caller: Caller,
): Promise<CatalogView> {
  const agents = agentsOf(templates, wanted.agent);
  await catalog.firstPage(firstPageMs);
  const reader = await catalog.database();
  const [known, alive] = await Promise.all([sessionDirs(reader), pages.alive()]);
  const all = new Set([...known, root]);
  const visible = await visibleDirs.among([...all], caller, wanted.dir);
  // Null also includes directories added during the query, so it is used only if the caller can see the root and all known directories.
  const dirs = visible.size === all.size ? null : visible;
  return { reader, agents, dirs, alive, indexing: catalog.indexing() };
}

/** The requested agents, by name. @throws PosternError `agent_unknown` */
function agentsOf(templates: readonly AgentTemplate[], wanted: string | undefined): readonly string[] {
  const names = templates.map(({ name }) => name);
  if (wanted === undefined) return names;
  const found = templates.find(({ name, aliases }) => name === wanted || aliases.includes(wanted));
  if (found !== undefined) return [found.name];
  throw sessionError("agent_unknown", `Unknown agent "${wanted}". Known agents: ${names.join(", ")}.`);
}
