import { Check, CircleX } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { LogFact } from "../../src/wire/logs.ts";
import { useSessionTitles } from "../api/logs.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { exactTime } from "../ui/time.tsx";
import {
  extractorCounts,
  factsOfEntry,
  isFailure,
  isState,
  type PredicateGroup,
  predicateLabel,
  type SubjectGroup,
  typeWords,
  valueWords,
} from "./facts.ts";
import { EntityLink } from "./links.tsx";

const shownFirst = 12;

export function EntryFacts({ facts }: { readonly facts: readonly LogFact[] }) {
  const titles = useSessionTitles();
  const { sessions, others } = factsOfEntry(facts);
  return (
    <div className="flex flex-col gap-5">
      {others
        .filter(({ type }) => type === "Decision")
        .map(({ type, subjects }) => (
          <Group key={type} title={typeWords[type][1]}>
            <Some>
              {subjects.map((one) => (
                <DecisionFacts key={one.subject.entityId} group={one} titles={titles} />
              ))}
            </Some>
          </Group>
        ))}
      {sessions.map((group) => (
        <Group key={group.subject.entityId} title={typeWords.Session[0]}>
          <li className="py-1.5">
            <EntityLink entity={group.subject} titles={titles} />
          </li>
          {group.predicates.map((one) => (
            <li key={one.predicate} className="grid grid-cols-[6.5rem_minmax(0,1fr)] gap-2 py-1.5">
              <span className="text-xs leading-5.5 text-ink-faint">{predicateLabel(one.predicate)}</span>
              <Values group={one} titles={titles} />
            </li>
          ))}
        </Group>
      ))}
      {others
        .filter(({ type }) => type !== "Decision")
        .map(({ type, subjects }) => (
          <Group key={type} title={typeWords[type][1]}>
            <Some>
              {subjects.map((one) => (
                <ThingFacts key={one.subject.entityId} group={one} titles={titles} />
              ))}
            </Some>
          </Group>
        ))}
      <p className="flex flex-wrap items-center gap-1.5 text-2xs text-ink-faint">
        Found by
        {extractorCounts(facts).map(([extractor, count]) => (
          <Badge key={extractor}>
            <span className="font-mono">{extractor}</span> {count}
          </Badge>
        ))}
      </p>
    </div>
  );
}

function Group({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h3 className="label-caps mb-1">{title}</h3>
      <ul className="divide-y divide-line rounded-xl border border-line bg-panel px-3">{children}</ul>
    </section>
  );
}

interface Titled {
  readonly titles: ReadonlyMap<string, string>;
}

function DecisionFacts({ group: { subject, predicates }, titles }: { readonly group: SubjectGroup } & Titled) {
  return (
    <li className="flex flex-col gap-0.5 py-2">
      <span className="font-medium">
        <EntityLink entity={subject} titles={titles} whole />
      </span>
      {predicates.flatMap(({ facts }) =>
        facts.map((fact) => (
          <span key={fact.factId} className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5 pl-5">
            <Said fact={fact} titles={titles} />
            <Holds fact={fact} />
            <FoundBy extractor={fact.extractor} />
          </span>
        )),
      )}
    </li>
  );
}

function ThingFacts({ group: { subject, predicates }, titles }: { readonly group: SubjectGroup } & Titled) {
  return (
    <li className="flex flex-wrap items-baseline justify-between gap-x-3 gap-y-0.5 py-1.5">
      <EntityLink entity={subject} titles={titles} whole />
      <span className="ml-auto flex flex-wrap items-center gap-x-2">
        {predicates.flatMap(({ predicate, facts }) =>
          facts.map((fact) => (
            <span key={fact.factId} className="inline-flex items-center gap-1.5 text-xs text-ink-soft">
              {predicate !== "last_exit" && predicate !== "status" && predicateLabel(predicate)}
              <Outcome fact={fact} />
              <Said fact={fact} titles={titles} />
              <Holds fact={fact} />
              <FoundBy extractor={fact.extractor} />
            </span>
          )),
        )}
      </span>
    </li>
  );
}

function Values({ group, titles }: { readonly group: PredicateGroup } & Titled) {
  return (
    <ul className={classNames("flex min-w-0 gap-1", group.predicate === "used" ? "flex-wrap gap-x-3" : "flex-col")}>
      <Some>
        {group.facts.map((fact) => (
          <li key={fact.factId} className="flex min-w-0 flex-wrap items-baseline gap-x-2">
            <Said fact={fact} titles={titles} />
            <Holds fact={fact} />
            <FoundBy extractor={fact.extractor} />
          </li>
        ))}
      </Some>
    </ul>
  );
}

function Some({ children }: { readonly children: readonly ReactNode[] }) {
  const [all, setAll] = useState(false);
  const shown = all || children.length <= shownFirst + 2 ? children : children.slice(0, shownFirst);
  return (
    <>
      {shown}
      {shown.length < children.length && (
        <li>
          <Button size="sm" variant="ghost" onClick={() => setAll(true)}>
            Show all {children.length}
          </Button>
        </li>
      )}
    </>
  );
}

export function Said({ fact, titles }: { readonly fact: LogFact } & Titled) {
  if (fact.object !== null) return <EntityLink entity={fact.object} titles={titles} />;
  return (
    <bdi className={classNames("min-w-0 break-words", isFailure(fact) === true && "text-danger")}>
      {valueWords(fact)}
    </bdi>
  );
}

function Outcome({ fact }: { readonly fact: LogFact }) {
  const failed = isFailure(fact);
  if (failed === null) return null;
  const Icon = failed ? CircleX : Check;
  return <Icon aria-hidden className={classNames("size-3.5 shrink-0", failed ? "text-danger" : "text-accent")} />;
}

/** Whether a state is current, or when it ended. Nothing for events. */
export function Holds({ fact }: { readonly fact: Pick<LogFact, "predicate" | "validTo"> }) {
  if (!isState(fact.predicate)) return null;
  const again = fact.predicate === "last_exit";
  if (fact.validTo === null) return <Badge tone="accent">{again ? "last run" : "Current"}</Badge>;
  return (
    <span className="text-2xs whitespace-nowrap text-ink-faint">
      {again ? "run again" : "until"} <time dateTime={fact.validTo}>{exactTime(fact.validTo)}</time>
    </span>
  );
}

/** Marks facts of a model, which may be wrong. */
export function FoundBy({ extractor }: Pick<LogFact, "extractor">) {
  if (extractor.startsWith("rules@")) return null;
  return (
    <span title={`Found by ${extractor}`}>
      <Badge>by a model</Badge>
    </span>
  );
}
