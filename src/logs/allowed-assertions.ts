import { entityTypeSchema, predicateSchema } from "../wire/logs.ts";
import {
  type Assertion,
  type EntityRef,
  keyOf,
  maxAssertions,
  maxValueCharacters,
  type TaggedAssertion,
} from "./assertion.ts";
import { maskedText } from "./log-body.ts";

/** What came from outside of these rules, as far as it has the form of assertions. */
export function allowedAssertions(given: readonly Assertion[], extractor: string): readonly TaggedAssertion[] {
  return given.slice(0, maxAssertions).flatMap(({ subject, predicate, object, at }) => {
    if (!predicateSchema.safeParse(predicate).success || !Number.isSafeInteger(at)) return [];
    const who = allowedEntity(subject);
    const what = typeof object === "string" ? maskedText(object, maxValueCharacters) : allowedEntity(object);
    return who === null || what === null ? [] : [{ subject: who, predicate, object: what, at, extractor }];
  });
}

function allowedEntity({ type, key }: EntityRef): EntityRef | null {
  const known = entityTypeSchema.safeParse(type);
  return known.success ? { type: known.data, key: keyOf(maskedText(key, maxValueCharacters)) } : null;
}
