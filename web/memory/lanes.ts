import type { LogFact } from "../../src/wire/logs.ts";
import { backLabel, entityName, isFailure, isState, predicateLabel, valueWords } from "./fact-words.ts";

/** Something on a lane: a time that it held, or (`end` is `start`) a moment. Parts of the whole, 0 to 1. */
export interface LaneMark {
  readonly factId: string;
  readonly start: number;
  readonly end: number;
  readonly words: string;
  readonly tone: "held" | "holds" | "failed" | "moment";
}

/** What one line of the picture shows. */
export interface Lane {
  readonly label: string;
  readonly marks: readonly LaneMark[];
}

/** Facts as a picture: when what held, and when what happened. */
export interface Lanes {
  readonly fromMs: number;
  readonly toMs: number;
  /** When the first of it happened, and the last; null for the last where something still holds: that is now. */
  readonly firstMs: number;
  readonly lastMs: number | null;
  readonly lanes: readonly Lane[];
}

/** More lines than this say nothing any more; the list below has all. */
export const maxLanes = 8;
/** Room at both ends, as a part of the whole. */
const margin = 0.02;
const minuteMs = 60_000;

/**
 * The facts about a thing as lanes: for what it holds one at a time the values in turn, for what others hold of it when they did, and for
 * what happened its moments.
 *
 * @param entityId the thing that is looked at
 * @param nowMs where what still holds ends
 */
export function lanesOf(
  facts: readonly LogFact[],
  {
    entityId,
    nowMs,
    titles,
  }: { readonly entityId: string; readonly nowMs: number; readonly titles: ReadonlyMap<string, string> },
): Lanes | null {
  const times = facts
    .flatMap(({ validFrom, validTo }) => [validFrom, ...(validTo === null ? [] : [validTo])])
    .map((at) => Date.parse(at));
  const holds = facts.some(({ predicate, validTo }) => isState(predicate) && validTo === null);
  if (times.length === 0) return null;
  const first = Math.min(...times);
  const last = Math.max(...times, holds ? nowMs : 0);
  const width = Math.max(last - first, minuteMs);
  const [fromMs, toMs] = [first - width * margin, last + (holds && last === nowMs ? 0 : width * margin)];
  const at = (ms: number): number => (ms - fromMs) / (toMs - fromMs);
  const lanes = [...Map.groupBy(facts, (fact) => laneOf(fact, { entityId, titles }))].map(([label, ofLane]) => ({
    label,
    marks: ofLane
      .map((fact): LaneMark => {
        const start = at(Date.parse(fact.validFrom));
        const words = fact.subject.entityId === entityId ? saidOf(fact, titles) : entityName(fact.subject, titles);
        const { factId, predicate, validTo } = fact;
        if (!isState(predicate)) return { factId, start, end: start, words, tone: "moment" };
        const end = at(validTo === null ? toMs : Date.parse(validTo));
        return {
          factId,
          start,
          end,
          words,
          tone: isFailure(fact) === true ? "failed" : validTo === null ? "holds" : "held",
        };
      })
      .toSorted((one, other) => one.start - other.start),
  }));
  return {
    fromMs,
    toMs,
    firstMs: first,
    lastMs: holds && last === nowMs ? null : last,
    lanes: lanes.slice(0, maxLanes),
  };
}

function laneOf(
  fact: LogFact,
  { entityId, titles }: { readonly entityId: string; readonly titles: ReadonlyMap<string, string> },
): string {
  const { predicate, subject } = fact;
  if (subject.entityId === entityId) return predicateLabel(predicate);
  return isState(predicate) ? `${backLabel(predicate)} ${entityName(subject, titles)}` : backLabel(predicate);
}

/** What a fact says of its subject. */
export function saidOf(fact: LogFact, titles: ReadonlyMap<string, string>): string {
  return fact.object === null ? valueWords(fact) : entityName(fact.object, titles);
}
