import type { CatalogPlace } from "./catalog-database.ts";
import type { Checkpoint } from "./transcript-scan.ts";

/** What the writing thread is given at its start. */
export interface StoreThreadOrder {
  readonly place: CatalogPlace;
}

/** One thing for the thread to write; it answers before it gets the next. */
export type StoreTask = { readonly kind: "put"; readonly batch: readonly Checkpoint[] } | { readonly kind: "close" };

/** What became of a task; null is well. */
export interface StoreAnswer {
  readonly failed: string | null;
}
