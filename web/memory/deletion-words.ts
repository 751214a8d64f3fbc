import type { DeletionPreview } from "../../src/wire/logs.ts";
import { counted } from "../session/session-words.ts";

/** Rows of what is derived, counted. */
export interface DerivedCounts {
  readonly facts: number;
  readonly statements: number;
  readonly entities: number;
}

/** What goes with an entry, and what stays because others share it; a line each. */
export interface PreviewWords {
  readonly goes: readonly string[];
  readonly stays: readonly string[];
}

export function previewWords({ removed, shared }: DeletionPreview): PreviewWords {
  return {
    goes: [
      removed.episode
        ? "The entry with its text and its search index"
        : "The entry with its text; no facts have been extracted yet",
      ...derivedWords(removed).map((line) => `${line.count} ${line.what}`),
    ],
    stays: [
      ...(shared.statements === 0 ? [] : [`${counted(shared.statements, "statement")} shared with other entries`]),
      ...(shared.entities === 0 ? [] : [`${counted(shared.entities, "topic")} shared with other entries`]),
    ],
  };
}

/** What was deleted, or would be, in numbers with their words. */
export function derivedWords({
  facts,
  statements,
  entities,
}: DerivedCounts): readonly { readonly count: number; readonly what: string }[] {
  const all = [
    { count: facts, what: facts === 1 ? "fact" : "facts" },
    { count: statements, what: `${statements === 1 ? "statement" : "statements"} from no other entry` },
    { count: entities, what: `${entities === 1 ? "topic" : "topics"} from no other entry` },
  ];
  return all.filter(({ count }) => count > 0);
}
