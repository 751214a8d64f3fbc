import type { EntityType, LogEntity, LogFact } from "../../src/wire/logs.ts";
import { isState, predicateRank, typeOrder } from "./fact-words.ts";

/** Facts of one predicate, the newest first, each thing once. */
export interface PredicateGroup {
  readonly predicate: string;
  readonly facts: readonly LogFact[];
}

/** What is said of one thing. */
export interface SubjectGroup {
  readonly subject: LogEntity;
  readonly predicates: readonly PredicateGroup[];
}

/** What an entry says: of its session, and of other things, by their type. */
export interface EntryFacts {
  readonly sessions: readonly SubjectGroup[];
  readonly others: readonly { readonly type: EntityType; readonly subjects: readonly SubjectGroup[] }[];
}

/**
 * The facts of an entry by what they are about. What the session did to a thing that has facts of its own (a command that was run, a
 * decision that was taken) is told there alone.
 */
export function factsOfEntry(facts: readonly LogFact[]): EntryFacts {
  const own = new Set(facts.flatMap(({ subject }) => (subject.type === "Session" ? [] : [subject.entityId])));
  const shown = facts.filter(
    ({ subject, object }) => subject.type !== "Session" || object === null || !own.has(object.entityId),
  );
  const groups = [...Map.groupBy(shown, ({ subject }) => subject.entityId).values()].flatMap(toSubject);
  const types = typeOrder.filter((type) => type !== "Session");
  return {
    sessions: groups.filter(({ subject }) => subject.type === "Session"),
    others: types.flatMap((type) => {
      const subjects = groups.filter(({ subject }) => subject.type === type);
      return subjects.length === 0 ? [] : [{ type, subjects }];
    }),
  };
}

function toSubject(facts: readonly LogFact[]): readonly SubjectGroup[] {
  const [first] = facts;
  if (first === undefined) return [];
  const predicates = [...Map.groupBy(facts, ({ predicate }) => predicate)]
    .map(([predicate, all]) => ({ predicate, facts: isState(predicate) ? all : eachOnce(all) }))
    .toSorted((one, other) => predicateRank(one.predicate) - predicateRank(other.predicate));
  return [{ subject: first.subject, predicates }];
}

function eachOnce(facts: readonly LogFact[]): readonly LogFact[] {
  return [...new Map(facts.map((fact) => [fact.statementId, fact])).values()];
}

/** How many facts each extractor found, the most first. */
export function extractorCounts(facts: readonly LogFact[]): readonly (readonly [string, number])[] {
  return [...Map.groupBy(facts, ({ extractor }) => extractor)]
    .map(([extractor, all]) => [extractor, all.length] as const)
    .toSorted(([, one], [, other]) => other - one);
}
