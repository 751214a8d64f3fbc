import type { CatalogPlace } from "./catalog-database.ts";
import type { Checkpoint } from "./transcript-scan.ts";

/** What the writing thread is told: where to write, first of all; then one thing at a time, each of which it answers. */
export type StoreTask =
  | { readonly kind: "open"; readonly place: CatalogPlace }
  | { readonly kind: "put"; readonly batch: readonly Checkpoint[] }
  | { readonly kind: "close" };

/** What became of a task; null is well. */
export interface StoreAnswer {
  readonly failed: string | null;
}
