import { distinct, isSingleValued, type TaggedAssertion } from "./assertion.ts";
import { countChunks, type Episode } from "./episode-store.ts";
import { episodeText } from "./episode-text.ts";
import type { SearchText } from "./ports.ts";
import { type LogBody, type LogContext, rules } from "./rules.ts";

/** What is derived from an entry at once, or later: what follows from its body alone, without a store. */
export interface Derivable {
  readonly accountId: string;
  readonly logId: string;
  readonly title: string | null;
  readonly sessionId: string | null;
  readonly observedAt: number;
  readonly recordedAt: number;
  readonly context: LogContext;
  readonly body: LogBody;
}

/** An episode with what the rules find, and what others found. */
export function episodeOf(of: Derivable, searchText: SearchText, more: readonly TaggedAssertion[] = []): Episode {
  const { accountId, logId, recordedAt, title } = of;
  const text = episodeText(of.body);
  const own = rules(of);
  return {
    accountId,
    logId,
    recordedAt,
    characters: text.length,
    chunks: countChunks(text, title, searchText),
    assertions: distinct([...own, ...more.filter((one) => !isKnown(one, own))]),
  };
}

/** Whether the rules say already what holds: what was read in the text is not superseded by a guess at the same moment. */
function isKnown({ subject, predicate }: TaggedAssertion, own: readonly TaggedAssertion[]): boolean {
  if (!isSingleValued(predicate)) return false;
  return own.some(
    (one) => one.predicate === predicate && one.subject.type === subject.type && one.subject.key === subject.key,
  );
}
