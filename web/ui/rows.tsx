import type { LucideIcon } from "lucide-react";
import { Fragment, type ReactNode, useEffect, useRef } from "react";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";

/** A list of rows with hairlines between them. */
export function Rows(props: {
  readonly children: ReactNode;
  readonly label: string;
  /** Without a frame, as part of a longer list. */
  readonly bare?: boolean;
}) {
  const { children, label, bare = false } = props;
  return (
    <ul
      aria-label={label}
      className={classNames("divide-y divide-line", !bare && "overflow-hidden rounded-xl border border-line bg-panel")}
    >
      {children}
    </ul>
  );
}

export function RecordRow(props: {
  readonly icon?: LucideIcon;
  readonly facts: readonly (readonly [string, ReactNode])[];
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  const { icon: Icon, facts, actions, children } = props;
  return (
    <li className="flex flex-col gap-x-4 gap-y-2 px-4 py-3 sm:flex-row sm:items-center">
      {Icon !== undefined && <Icon aria-hidden className="hidden size-4 shrink-0 text-ink-faint sm:block" />}
      <div className="flex min-w-0 flex-1 flex-col gap-1">{children}</div>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        {facts.length > 0 && (
          <dl className="grid grid-cols-[auto_1fr] gap-x-2 text-2xs text-ink-faint sm:min-w-40">
            {facts.map(([name, value]) => (
              <Fragment key={name}>
                <dt>{name}</dt>
                <dd className="whitespace-nowrap">{value}</dd>
              </Fragment>
            ))}
          </dl>
        )}
        <div className="ml-auto">{actions}</div>
      </div>
    </li>
  );
}

/** Rows grouped by day. */
export function DayRows<One>(props: {
  readonly things: readonly One[];
  readonly atOf: (thing: One) => string;
  /** The rows of the previous query, while others load. */
  readonly stale: boolean;
  readonly renderRow: (thing: One) => ReactNode;
}) {
  const { things, atOf, stale, renderRow } = props;
  return (
    <div className={classNames("flex flex-col gap-5", stale && "opacity-60")}>
      {byDay(things, atOf).map(({ day, things: ofDay }) => (
        <section key={day} aria-label={day}>
          <h2 className="label-caps mb-1.5 px-1">{day}</h2>
          <Rows label={day}>{ofDay.map(renderRow)}</Rows>
        </section>
      ))}
    </div>
  );
}

interface Day<One> {
  readonly day: string;
  readonly things: readonly One[];
}

export function byDay<One>(things: readonly One[], atOf: (thing: One) => string): readonly Day<One>[] {
  const nowMs = Date.now();
  return [...Map.groupBy(things, (thing) => dayWords(atOf(thing), nowMs))].map(([day, ofDay]) => ({
    day,
    things: ofDay,
  }));
}

/** A day as a heading: today and yesterday by name. */
export function dayWords(at: string, nowMs: number): string {
  const day = new Date(at);
  const daysAgo = Math.round((startOfDay(new Date(nowMs)) - startOfDay(day)) / 86_400_000);
  if (daysAgo === 0) return "Today";
  if (daysAgo === 1) return "Yesterday";
  return day.toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
}

function startOfDay(time: Date): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
}

/** Loads the next page when it becomes visible. */
export function NextPage({
  label,
  has,
  busy,
  onNext,
}: {
  readonly label: string;
  readonly has: boolean;
  readonly busy: boolean;
  readonly onNext: () => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const next = useRef(onNext);
  useEffect(() => {
    next.current = onNext;
  });
  useEffect(() => {
    // Observed again after each page: it may still be visible, and a newer event may have cancelled a page.
    if (!has || busy || place.current === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) next.current();
      },
      { rootMargin: "600px" },
    );
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [has, busy]);
  if (!has) return null;
  return (
    <div ref={place} className="flex justify-center py-3">
      <Button variant="ghost" busy={busy} onClick={onNext}>
        {label}
      </Button>
    </div>
  );
}
