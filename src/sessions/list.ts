import { findSessions } from "../catalog/index.ts";
import type { Caller } from "../wire/caller.ts";
import type { ListInput, ListOutput } from "../wire/session-lists.ts";
import { type CatalogViewDeps, viewCatalog } from "./catalog-view.ts";

const defaultLimit = 20;

/**
 * `coding_list_sessions`: every session that any agent wrote on this machine, and those of this gateway that wrote nothing, the most
 * recently updated first.
 * @see the seed, "coding_list_sessions"
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
        alive,
        partial: indexing !== null,
      },
      { limit, offset },
    );
    const sessions = await deps.pages.summaries(rows, alive);
    return { sessions: [...sessions], total, limit, offset, hasMore: offset + rows.length < total, indexing };
  };
}
