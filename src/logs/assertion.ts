import { sha256 } from "../core/ids.ts";
import { type EntityType, singleValuedPredicates } from "../wire/logs.ts";
import { cut } from "./plain-text.ts";

/** An entity by its canonical name. */
export interface EntityRef {
  readonly type: EntityType;
  readonly key: string;
}

/** A triple whose object is an entity or a value. */
export interface Assertion {
  readonly subject: EntityRef;
  readonly predicate: string;
  readonly object: EntityRef | string;
  /** The time from which it holds, in milliseconds since the epoch. */
  readonly at: number;
}

/** An assertion with its extractor: `rules@1` or `llm:…`. */
export interface TaggedAssertion extends Assertion {
  readonly extractor: string;
}

/** Longer than any path or typed command. */
const maxKeyCharacters = 500;
/** A decision in a few sentences. */
export const maxValueCharacters = 2_000;
/** An episode with more is a listing. The rest can still be found by its words. */
export const maxAssertions = 1_000;

/** 24 bits. Ids of related keys share this prefix, so the rows of one entry fill few index pages. */
const prefixLength = 6;
/** With 104 more bits, collisions are negligible and the index is half as large as with a full hash. */
const idLength = 32;

/** A hash of account, type and key. Keys of one directory, site or program share a prefix. */
export function entityIdOf(accountId: string, { type, key }: EntityRef): string {
  const prefix = sha256(JSON.stringify([accountId, type, commonPrefixOf(key)])).slice(0, prefixLength);
  return prefix + sha256(JSON.stringify([accountId, type, key])).slice(prefixLength, idLength);
}

/** A hash of the subject's id, predicate and object, with the subject's prefix. */
export function statementIdOf(
  subjectId: string,
  { predicate, object }: Pick<Assertion, "predicate" | "object">,
): string {
  const about = typeof object === "string" ? [object] : [object.type, object.key];
  return (
    subjectId.slice(0, prefixLength) +
    sha256(JSON.stringify([subjectId, predicate, ...about])).slice(prefixLength, idLength)
  );
}

/** A command's program, or a path or address without its last part. */
function commonPrefixOf(key: string): string {
  const space = key.indexOf(" ");
  return space > 0 ? key.slice(0, space) : key.slice(0, key.lastIndexOf("/") + 1);
}

/** Whether a subject has one value of this predicate at a time. */
export function isSingleValued(predicate: string): boolean {
  return singleValuedPredicates.some((one) => one === predicate);
}

/** Text as a key: on one line and bounded. */
export function keyOf(text: string): string {
  return cut(text.replace(/\s+/g, " ").trim(), maxKeyCharacters);
}

/** Removes duplicates and empty assertions, up to {@link maxAssertions}. Of a single-valued predicate, only one assertion per time is kept. */
export function distinct<One extends Assertion>(all: readonly One[]): readonly One[] {
  const known = new Map<string, One>();
  for (const one of all) {
    if (known.size >= maxAssertions) break;
    const { subject, predicate, object, at } = one;
    if (subject.key === "" || (typeof object === "string" ? object : object.key) === "") continue;
    const id = JSON.stringify([subject, predicate, object, isSingleValued(predicate) ? at : null]);
    if (!known.has(id)) known.set(id, one);
  }
  return [...known.values()];
}
