import type { LucideIcon } from "lucide-react";
import { Fragment, type ReactNode } from "react";

/** A thing in a list: what it is, small facts about it with their names, and what can be done with it. */
export function RecordRow({
  icon: Icon,
  facts,
  actions,
  children,
}: {
  readonly icon?: LucideIcon;
  readonly facts: readonly (readonly [string, ReactNode])[];
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
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
