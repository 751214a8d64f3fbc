import type { LogFact } from "../../src/wire/logs.ts";
import { classNames } from "../ui/class-names.ts";
import { exactTime } from "../ui/time.tsx";
import { backLabel, entityName, isFailure, isState, predicateLabel, valueWords } from "./facts.ts";

/** A state, or an event if `end` equals `start`. Both are fractions of the width, 0 to 1. */
interface LaneMark {
  readonly factId: string;
  readonly start: number;
  readonly end: number;
  readonly words: string;
  readonly tone: "held" | "holds" | "failed" | "moment";
}

interface Lane {
  readonly label: string;
  readonly marks: readonly LaneMark[];
}

interface Lanes {
  readonly fromMs: number;
  readonly toMs: number;
  /** First and last time; the last is null while something is still valid. */
  readonly firstMs: number;
  readonly lastMs: number | null;
  readonly lanes: readonly Lane[];
}

/** More would be unreadable; the list below has all. */
const maxLanes = 8;
/** Margin at both ends, as a fraction of the width. */
const margin = 0.02;
const minuteMs = 60_000;

/**
 * The facts about a topic as lanes: the successive values of each single-valued predicate, the spans in which other topics referred to
 * this one, and the times of events.
 *
 * @param entityId the topic shown
 * @param nowMs the end of facts that are still current
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

function saidOf(fact: LogFact, titles: ReadonlyMap<string, string>): string {
  return fact.object === null ? valueWords(fact) : entityName(fact.object, titles);
}

const tones: Readonly<Record<LaneMark["tone"], string>> = {
  held: "bg-line-strong/60 text-ink",
  holds: "bg-accent-soft text-accent",
  failed: "bg-danger-soft text-danger",
  moment: "bg-accent",
};

/** Decorative: the list below has the same content. */
export function TimeLanes({
  lanes: { fromMs, toMs, firstMs, lastMs, lanes },
  atMs,
}: {
  readonly lanes: Lanes;
  readonly atMs: number | null;
}) {
  const marker = atMs === null ? null : Math.min(1, Math.max(0, (atMs - fromMs) / (toMs - fromMs)));
  return (
    <div aria-hidden className="mb-5 rounded-xl border border-line bg-panel px-4 pt-3 pb-2">
      <div className="flex flex-col gap-2.5">
        {lanes.map(({ label, marks }) => (
          <div key={label}>
            <div className="truncate text-2xs text-ink-faint">{label}</div>
            <div className="relative mt-0.5 h-6 overflow-hidden rounded bg-well">
              {marks.map((mark) => (
                <Mark key={mark.factId} mark={mark} />
              ))}
              {marker !== null && (
                <span className="absolute inset-y-0 w-0.5 bg-lamp-fill" style={{ left: `${marker * 100}%` }} />
              )}
            </div>
          </div>
        ))}
      </div>
      <div className="mt-1.5 flex justify-between gap-4 text-2xs text-ink-faint tabular-nums">
        <span>{exactTime(new Date(firstMs).toISOString())}</span>
        {lastMs !== firstMs && (
          <span className="text-right">{lastMs === null ? "now" : exactTime(new Date(lastMs).toISOString())}</span>
        )}
      </div>
    </div>
  );
}

function Mark({ mark: { start, end, words, tone } }: { readonly mark: LaneMark }) {
  const left = `${start * 100}%`;
  if (tone === "moment") {
    return (
      <span
        title={words}
        className={classNames("absolute top-1.5 size-3 -translate-x-1/2 rounded-door opacity-80", tones[tone])}
        style={{ left }}
      />
    );
  }
  return (
    <span
      title={words}
      className={classNames(
        "absolute inset-y-0 min-w-1 truncate border-l-2 border-well px-1 text-2xs leading-6 font-medium",
        tones[tone],
      )}
      style={{ left, width: `${(end - start) * 100}%` }}
    >
      {words}
    </span>
  );
}
