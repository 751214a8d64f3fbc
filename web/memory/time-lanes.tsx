import { classNames } from "../ui/class-names.ts";
import { exactTime } from "../ui/time.ts";
import type { LaneMark, Lanes } from "./lanes.ts";

const tones: Readonly<Record<LaneMark["tone"], string>> = {
  held: "bg-line-strong/60 text-ink",
  holds: "bg-accent-soft text-accent",
  failed: "bg-danger-soft text-danger",
  moment: "bg-accent",
};

/** When what held and happened, as a picture. The list that it stands above says all of it in words. */
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
