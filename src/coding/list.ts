import type { ListInput, ListOutput } from "../wire/session-lists.ts";
import type { AgentTemplate } from "./agents/template.ts";
import type { Catalog } from "./catalog/catalog.ts";
import { findSessions, sessionDirs } from "./catalog/session-rows.ts";
import { codingError } from "./errors.ts";
import type { Caller } from "./ports.ts";
import type { SessionPages } from "./session-pages.ts";
import type { VisibleDirs } from "./visible-dirs.ts";

/** What listing needs. */
export interface ListDeps {
  readonly catalog: Pick<Catalog, "database" | "firstPage" | "indexing">;
  readonly pages: SessionPages;
  readonly visibleDirs: VisibleDirs;
  readonly templates: readonly AgentTemplate[];
}

const defaultLimit = 20;
/** A catalog that is made for the first time has its newest page by then. */
const firstPageMs = 200;
const root = "/";

/**
 * `coding_list_sessions`: every session that any agent wrote on this machine, and those of this gateway that wrote nothing, the most
 * recently updated first.
 * @see the seed, "coding_list_sessions"
 */
export function createList(deps: ListDeps): (input: ListInput, caller: Caller) => Promise<ListOutput> {
  const { catalog, pages, visibleDirs, templates } = deps;
  return async (input, caller) => {
    const agents = agentsOf(templates, input.agent);
    await catalog.firstPage(firstPageMs);
    const reader = await catalog.database();
    const [known, alive] = await Promise.all([sessionDirs(reader), pages.alive()]);
    const dirs = new Set([...known, root]);
    const visible = await visibleDirs.among([...dirs], caller, input.dir);
    const indexing = catalog.indexing();
    const { limit = defaultLimit, offset = 0 } = input;
    const { rows, total } = await findSessions(
      reader,
      {
        agents,
        anyAgent: input.agent === undefined,
        // Only who may see the root and all there is may see what comes while we look.
        dirs: visible.size === dirs.size ? null : [...visible],
        since: input.since === undefined ? null : Date.parse(input.since),
        status: input.status ?? null,
        alive,
        partial: indexing !== null,
      },
      { limit, offset },
    );
    const sessions = await pages.summaries(rows, alive);
    return { sessions: [...sessions], total, limit, offset, hasMore: offset + rows.length < total, indexing };
  };
}

/** The agents that are wanted, by their names. @throws PosternError `agent_unknown` */
export function agentsOf(templates: readonly AgentTemplate[], wanted: string | undefined): readonly string[] {
  const names = templates.map(({ name }) => name);
  if (wanted === undefined) return names;
  const found = templates.find(({ name, aliases }) => name === wanted || aliases.includes(wanted));
  if (found !== undefined) return [found.name];
  throw codingError("agent_unknown", `There is no agent "${wanted}". Known are: ${names.join(", ")}.`);
}
