import { sha256 } from "../core/ids.ts";
import { type EntityType, singleValuedPredicates } from "../wire/logs.ts";
import { cut } from "./plain-text.ts";

/** A thing by its canonical name. */
export interface EntityRef {
  readonly type: EntityType;
  readonly key: string;
}

/** What an episode says: subject, predicate, and an entity or a value. */
export interface Assertion {
  readonly subject: EntityRef;
  readonly predicate: string;
  readonly object: EntityRef | string;
  /** Since when it holds, milliseconds since the epoch. */
  readonly at: number;
}

/** An assertion and who found it: `rules@1`, or `llm:…`. */
export interface TaggedAssertion extends Assertion {
  readonly extractor: string;
}

/** A key longer than a path or a command that anybody types is cut. */
export const maxKeyCharacters = 500;
/** A decision in a few sentences. */
export const maxValueCharacters = 2_000;
/** An episode that says more is a listing; the rest is still found by its words. */
export const maxAssertions = 1_000;

/** In an index what is next to each other by name is: what one entry says is mostly of few places, and lies in few pages. 24 bits. */
const placeLength = 6;
/** With 104 bits more it is as good as unique, and half of the index. */
const idLength = 32;

/** The same for an account, a type and a key; of things of one place (a directory, a site, a program) the beginning is the same. */
export function entityIdOf(accountId: string, { type, key }: EntityRef): string {
  const place = sha256(JSON.stringify([accountId, type, commonPrefixOf(key)])).slice(0, placeLength);
  return place + sha256(JSON.stringify([accountId, type, key])).slice(placeLength, idLength);
}

/** The same for a subject, by its id, and what is said of it; it begins as the subject's. */
export function statementIdOf(
  subjectId: string,
  { predicate, object }: Pick<Assertion, "predicate" | "object">,
): string {
  const about = typeof object === "string" ? [object] : [object.type, object.key];
  return (
    subjectId.slice(0, placeLength) +
    sha256(JSON.stringify([subjectId, predicate, ...about])).slice(placeLength, idLength)
  );
}

/** Of a command its program, of a path or an address what is before its last part. */
function commonPrefixOf(key: string): string {
  const space = key.indexOf(" ");
  return space > 0 ? key.slice(0, space) : key.slice(0, key.lastIndexOf("/") + 1);
}

/** Whether a subject has one such at a time. */
export function isSingleValued(predicate: string): boolean {
  return singleValuedPredicates.some((one) => one === predicate);
}

/** Whether something is said of a thing with this name: one line, neither empty nor endless. */
export function keyOf(text: string): string {
  return cut(text.replace(/\s+/g, " ").trim(), maxKeyCharacters);
}

/** Each once (where there is one at a time: once for each time), without those that say nothing, and not too many. */
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
