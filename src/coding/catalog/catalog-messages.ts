import type { CatalogPlace } from "./catalog-database.ts";
import type { CatalogProgress } from "./catalog-indexer.ts";
import type { CatalogSource } from "./transcript-walk.ts";

/** What the indexing process is given at its start. */
export interface IndexingOrder {
  readonly place: CatalogPlace;
  readonly sources: readonly CatalogSource[];
}

/** One thing for the process to do; it says `done` before it gets the next. */
export type IndexingTask =
  | { readonly kind: "sweep" | "rebuild" | "stop" }
  | { readonly kind: "look" | "forget"; readonly paths: readonly string[] };

/** What the process says. */
export type IndexingNews =
  | { readonly kind: "progress"; readonly progress: CatalogProgress }
  | { readonly kind: "folders"; readonly paths: readonly string[] }
  | {
      readonly kind: "log";
      readonly level: "debug" | "info" | "warn" | "error";
      readonly fields: Readonly<Record<string, unknown>>;
      readonly message: string;
    }
  | { readonly kind: "done"; readonly progress: CatalogProgress; readonly peakRssBytes: number; readonly cpuMs: number }
  | { readonly kind: "failed"; readonly reason: string };
