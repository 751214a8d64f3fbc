import { useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import type { LogEntity, LogFact } from "../../src/wire/logs.ts";
import { useSessionTitles, useTimeline } from "../api/logs.ts";
import { useMay } from "../api/sign-in.ts";
import { Button } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { EmptyState, QueryState } from "../ui/notice.tsx";
import { BackLink, Page } from "../ui/page.tsx";
import { DayRows, NextPage } from "../ui/rows.tsx";
import { exactTime } from "../ui/time.tsx";
import { plainName } from "../ui/untrusted.tsx";
import { FoundBy, Holds, Said } from "./entry-facts.tsx";
import { backLabel, entityName, isCode, predicateLabel, typeWords } from "./facts.ts";
import { EntityIcon, EntityLink, SessionLink } from "./links.tsx";
import { lanesOf, TimeLanes } from "./time-lanes.tsx";

/** The facts about a file, branch, command or other topic: when they were valid and where they come from. */
export function EntityPage() {
  const { entityId = "" } = useParams();
  return <OneEntity key={entityId} entityId={entityId} />;
}

function OneEntity({ entityId }: { readonly entityId: string }) {
  const [params, setParams] = useSearchParams();
  const atMs = timeOfLocal(params.get("asOf") ?? "");
  const asOf = atMs === null ? undefined : new Date(atMs).toISOString();
  const all = useTimeline(entityId, undefined);
  const then = useTimeline(entityId, asOf, { enabled: asOf !== undefined });
  const titles = useSessionTitles();
  const [nowMs] = useState(() => Date.now());
  const shown = asOf === undefined ? all : then;
  const every = all.data?.pages.flatMap((page) => page.facts) ?? [];
  const facts = shown.data?.pages.flatMap((page) => page.facts) ?? [];
  const entity = entityOf(every, entityId);
  const lanes = lanesOf(every, { entityId, nowMs, titles });
  const setAsOf = (local: string): void => setParams(local === "" ? {} : { asOf: local }, { replace: true });
  return (
    <Page
      back={<BackLink to="/memory/entities" label="Topics" />}
      title={entity === null ? "Memory" : entityName(entity, titles)}
      description={entity === null ? undefined : <WholeName entity={entity} />}
      actions={every.length > 0 && <AsOf local={params.get("asOf") ?? ""} onChange={setAsOf} />}
    >
      {lanes !== null && <TimeLanes lanes={lanes} atMs={atMs} />}
      <QueryState query={shown} label="Loading facts" />
      {shown.isSuccess && facts.length === 0 && (
        <EmptyState title={asOf === undefined ? "No facts" : "No facts at that time"} />
      )}
      <DayRows
        things={facts}
        atOf={({ validFrom }) => validFrom}
        stale={shown.isPlaceholderData}
        renderRow={(fact) => <FactRow key={fact.factId} fact={fact} entityId={entityId} titles={titles} />}
      />
      <NextPage
        key={facts.length}
        label="Older facts"
        has={shown.hasNextPage}
        busy={shown.isFetchingNextPage}
        onNext={() => void shown.fetchNextPage()}
      />
    </Page>
  );
}

function entityOf(facts: readonly LogFact[], entityId: string): LogEntity | null {
  const [fact] = facts;
  if (fact === undefined) return null;
  return fact.subject.entityId === entityId ? fact.subject : fact.object;
}

function WholeName({ entity: { type, key } }: { readonly entity: LogEntity }) {
  const name = plainName(key);
  const mayReadSessions = useMay("coding:read");
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      <EntityIcon type={type} />
      {typeWords[type][0]}
      <span aria-hidden>·</span>
      <bdi className={classNames("min-w-0 break-all", isCode(type) && "font-mono text-xs")}>{name}</bdi>
      <CopyButton text={name} label="Copy name" className="-my-1" />
      {type === "Session" && key !== "api" && mayReadSessions && (
        <SessionLink sessionId={key}>Open session</SessionLink>
      )}
    </span>
  );
}

function AsOf({ local, onChange }: { readonly local: string; readonly onChange: (local: string) => void }) {
  const [latest] = useState(() => localTime(Date.now()));
  return (
    <div className="flex flex-wrap items-center gap-2">
      <label className="flex items-center gap-2 text-xs text-ink-soft">
        As of
        <input
          type="datetime-local"
          value={local}
          max={latest}
          onChange={(event) => onChange(event.target.value)}
          className="h-8 rounded-md border border-line-strong bg-raised px-2 text-xs text-ink pointer-coarse:h-10"
        />
      </label>
      {local !== "" && (
        <Button variant="ghost" onClick={() => onChange("")}>
          Now
        </Button>
      )}
    </div>
  );
}

function FactRow(props: {
  readonly fact: LogFact;
  readonly entityId: string;
  readonly titles: ReadonlyMap<string, string>;
}) {
  const { fact, entityId, titles } = props;
  const { subject, predicate, validFrom, logId, extractor } = fact;
  const forward = subject.entityId === entityId;
  return (
    <li className="flex gap-3 px-4 py-2">
      <time
        dateTime={validFrom}
        title={exactTime(validFrom)}
        className="w-16 shrink-0 text-xs leading-5.5 whitespace-nowrap text-ink-faint tabular-nums"
      >
        {new Date(validFrom).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })}
      </time>
      <div className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-2 gap-y-0.5">
        <span className="text-ink-faint">{forward ? predicateLabel(predicate) : backLabel(predicate)}</span>
        {forward ? <Said fact={fact} titles={titles} /> : <EntityLink entity={subject} titles={titles} />}
        <Holds fact={fact} />
        <FoundBy extractor={extractor} />
      </div>
      <Link
        to={`/memory/${encodeURIComponent(logId)}`}
        aria-label={`The entry that says: ${forward ? predicateLabel(predicate) : backLabel(predicate)}, ${exactTime(validFrom)}`}
        className="shrink-0 text-xs leading-5.5 text-accent underline underline-offset-2"
      >
        Entry
      </Link>
    </li>
  );
}

/** The value of a `datetime-local` input: local time, to the minute. */
function localTime(timeMs: number): string {
  const offsetMs = new Date(timeMs).getTimezoneOffset() * 60_000;
  return new Date(timeMs - offsetMs).toISOString().slice(0, 16);
}

/** The time of such a value in milliseconds; null if invalid. */
function timeOfLocal(local: string): number | null {
  if (!/^\d{4,6}-\d\d-\d\dT\d\d:\d\d/.test(local)) return null;
  const timeMs = new Date(local).getTime();
  return Number.isNaN(timeMs) ? null : timeMs;
}
