import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { type Erasure, openErasure as openStoreErasure } from "../storage/erasure.ts";
import type { LogsDatabase } from "./logs-database.ts";

export type { Erasure } from "../storage/erasure.ts";

/** Removes from the store's files what was removed from the memory's tables. */
export function openErasure(deps: LogsDatabase & { readonly clock: Clock; readonly log: Log }): Promise<Erasure> {
  return openStoreErasure({ ...deps, tables: tablesWithText });
}

const tablesWithText = [
  "log_entries",
  "log_chunks",
  "log_words",
  "log_postings",
  "entities",
  "statements",
  "facts",
] as const;
