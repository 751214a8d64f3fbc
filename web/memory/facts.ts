import { type EntityType, type LogEntity, type LogFact, singleValuedPredicates } from "../../src/wire/logs.ts";
import { capital } from "../session/session-words.ts";
import { shortPath } from "../ui/session-state.ts";
import { plainName } from "../ui/untrusted.tsx";

/** Labels of a predicate, read from its subject and from its object. */
interface PredicateWords {
  readonly label: string;
  readonly back: string;
}

const words: Readonly<Record<string, PredicateWords>> = {
  decided: { label: "Decided", back: "Decided in" },
  remembered: { label: "To remember", back: "To remember from" },
  status: { label: "Says", back: "Said of" },
  edited: { label: "Edited", back: "Edited in" },
  committed: { label: "Committed", back: "Committed in" },
  ran: { label: "Ran", back: "Run in" },
  last_exit: { label: "Ended with", back: "Ended" },
  installed: { label: "Installed", back: "Installed in" },
  current_branch: { label: "On branch", back: "Branch of" },
  in_repository: { label: "Repository", back: "Worked on in" },
  by_agent: { label: "Agent", back: "Agent of" },
  read: { label: "Read", back: "Read in" },
  mentioned: { label: "Mentioned", back: "Mentioned in" },
  used: { label: "Used", back: "Used in" },
};
const order = Object.keys(words);

export function predicateLabel(predicate: string): string {
  return words[predicate]?.label ?? capital(predicate.replaceAll("_", " "));
}

export function backLabel(predicate: string): string {
  return words[predicate]?.back ?? `${capital(predicate.replaceAll("_", " "))}, by`;
}

export function predicateRank(predicate: string): number {
  const at = order.indexOf(predicate);
  return at === -1 ? order.length : at;
}

/** States are valid until the next fact; others are events. */
export function isState(predicate: string): boolean {
  return singleValuedPredicates.some((one) => one === predicate);
}

export const typeWords: Readonly<Record<EntityType, readonly [one: string, several: string]>> = {
  Session: ["Session", "Sessions"],
  Decision: ["Decision", "Decisions"],
  File: ["File", "Files"],
  Command: ["Command", "Commands"],
  Branch: ["Branch", "Branches"],
  Commit: ["Commit", "Commits"],
  Repository: ["Repository", "Repositories"],
  Package: ["Package", "Packages"],
  Issue: ["Issue", "Issues"],
  Url: ["Address", "Addresses"],
  Tool: ["Tool", "Tools"],
};

/** In display order. */
export const typeOrder: readonly EntityType[] = [
  ...(["Decision", "File", "Command", "Branch", "Commit", "Session"] as const),
  ...(["Repository", "Package", "Issue", "Url", "Tool"] as const),
];

/** The gateway's name for facts without a session. */
const noSession = "api";
/** Longer ids are generated: their beginning distinguishes them. */
const longId = 24;
const shortIdLength = 8;

/** A short name. Untrusted: it comes from a log. */
export function entityName(
  { type, key }: Pick<LogEntity, "type" | "key">,
  titles?: ReadonlyMap<string, string>,
): string {
  if (type === "Session") {
    const title = titles?.get(key);
    if (title !== undefined) return plainName(title);
    return key === noSession ? "Notes" : plainName(key.length > longId ? key.slice(0, shortIdLength) : key);
  }
  if (type === "File" || type === "Repository") return plainName(shortPath(key));
  return plainName(type === "Commit" ? key.slice(0, 12) : key);
}

/** Whether the name is shown as code. */
export function isCode(type: EntityType): boolean {
  return type !== "Session" && type !== "Decision" && type !== "Tool" && type !== "Issue";
}

export function valueWords({ predicate, value }: Pick<LogFact, "predicate" | "value">): string {
  const said = plainName(value ?? "");
  return predicate === "last_exit" && /^-?\d+$/.test(said) ? `exit code ${said}` : said;
}

/** Whether a command failed; null for other facts. */
export function isFailure({ predicate, value }: Pick<LogFact, "predicate" | "value">): boolean | null {
  return predicate === "last_exit" ? value !== "0" : null;
}

export interface PredicateGroup {
  readonly predicate: string;
  readonly facts: readonly LogFact[];
}

export interface SubjectGroup {
  readonly subject: LogEntity;
  readonly predicates: readonly PredicateGroup[];
}

interface EntryFacts {
  readonly sessions: readonly SubjectGroup[];
  readonly others: readonly { readonly type: EntityType; readonly subjects: readonly SubjectGroup[] }[];
}

/** Groups facts by topic. An action of a session on a topic that has facts (a command, a decision) is listed only under that topic. */
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

/** The number of facts per extractor, largest first. */
export function extractorCounts(facts: readonly LogFact[]): readonly (readonly [string, number])[] {
  return [...Map.groupBy(facts, ({ extractor }) => extractor)]
    .map(([extractor, all]) => [extractor, all.length] as const)
    .toSorted(([, one], [, other]) => other - one);
}
