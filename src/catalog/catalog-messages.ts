import type { CatalogPlace } from "./catalog-database.ts";
import type { CatalogProgress } from "./catalog-indexer.ts";
import type { ForgottenSession } from "./forgotten-sessions.ts";
import type { CatalogSource } from "./transcript-walk.ts";

/** What the indexing process is given at its start. */
export interface IndexingOrder {
  readonly place: CatalogPlace;
  readonly sources: readonly CatalogSource[];
  /** What was forgotten until now. */
  readonly forgotten: readonly ForgottenSession[];
}

/** One thing for the process to do; it says `done` before it gets the next. */
export type IndexingTask =
  | { readonly kind: "sweep" | "rebuild" | "stop" }
  | { readonly kind: "look"; readonly paths: readonly string[] }
  | { readonly kind: "forget"; readonly sessions: readonly ForgottenSession[] }
  /** Empties the journal of what was forgotten. */
  | { readonly kind: "empty" };

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
  | {
      readonly kind: "done";
      readonly progress: CatalogProgress;
      readonly peakRssBytes: number;
      readonly cpuMs: number;
      /** A reader kept the journal from being emptied. */
      readonly isHeldUp: boolean;
    }
  | { readonly kind: "failed"; readonly reason: string };
