import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { byDay } from "./days.ts";
import { Rows } from "./page.tsx";

/** Things under the days on which they happened, in the order in which they come. */
export function DayRows<One>({
  things,
  atOf,
  stale,
  renderRow,
}: {
  readonly things: readonly One[];
  readonly atOf: (thing: One) => string;
  /** They are those of what was asked before, while others are on their way. */
  readonly stale: boolean;
  readonly renderRow: (thing: One) => ReactNode;
}) {
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
