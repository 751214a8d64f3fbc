import { Tabs } from "radix-ui";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef, useState } from "react";
import { classNames } from "../ui/class-names.ts";

export interface SessionTab<Name extends string> {
  readonly name: Name;
  readonly label: string;
  readonly waits?: boolean;
}

export function SessionTabs<Name extends string>(props: {
  readonly label: string;
  readonly tabs: readonly SessionTab<Name>[];
  readonly value: Name;
  readonly onValue: (name: Name) => void;
  /** At the end of the row. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  const { label, tabs, value, onValue, actions, children } = props;
  const choose = (chosen: string): void => {
    const tab = tabs.find(({ name }) => name === chosen);
    if (tab !== undefined) onValue(tab.name);
  };
  return (
    <Tabs.Root value={value} onValueChange={choose} className="flex min-h-0 min-w-0 flex-1 flex-col">
      <div className="flex h-9 shrink-0 items-stretch border-b border-line bg-panel pr-1 pointer-coarse:h-11 [@media(max-height:480px)]:h-8!">
        <Tabs.List aria-label={label} className="scrollbar-none flex min-w-0 flex-1 gap-1 overflow-x-auto px-2">
          {tabs.map(({ name, label: words, waits = false }) => (
            <Tabs.Trigger
              key={name}
              value={name}
              // No focus ring after a click: Radix focuses by script, which browsers treat as the keyboard.
              onPointerDown={(event) => {
                event.currentTarget.dataset["pressed"] = "";
              }}
              onBlur={(event) => {
                delete event.currentTarget.dataset["pressed"];
              }}
              className={classNames(
                "shrink-0 whitespace-nowrap focus-visible:-outline-offset-2 focus-visible:data-pressed:outline-none",
                "-mb-px inline-flex items-center gap-1.5 border-b-2 px-2 text-xs font-medium",
                "border-transparent text-ink-faint hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink",
              )}
            >
              {words}
              {waits && <span role="img" aria-label="waits for you" className="size-1.5 rounded-full bg-lamp-fill" />}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {actions !== undefined && <div className="flex shrink-0 items-center">{actions}</div>}
      </div>
      {children}
    </Tabs.Root>
  );
}

/** `kept` stays mounted while another tab is open. */
export function SessionTabPanel(props: {
  readonly name: string;
  readonly kept?: boolean;
  readonly children: ReactNode;
}) {
  const { name, kept = false, children } = props;
  return (
    <Tabs.Content
      value={name}
      tabIndex={-1}
      {...(kept ? { forceMount: true } : {})}
      className="flex min-h-0 min-w-0 flex-1 flex-col focus:outline-none data-[state=inactive]:hidden"
    >
      {children}
    </Tabs.Content>
  );
}

const name = "postern.split";
const bounds = { least: 25, most: 75, begin: 56 } as const;
/** Percent per arrow key. */
const step = 2;

/** Two panes with a divider that can be moved with pointer and keys. Its position is stored. */
export function SplitView(props: {
  readonly left: ReactNode;
  readonly right: ReactNode;
  /** Shows them in the other order. The panes keep their state. */
  readonly swapped?: boolean;
}) {
  const { left, right, swapped = false } = props;
  const whole = useRef<HTMLDivElement>(null);
  const [share, setShare] = useState(readShare);
  const move = (next: number): void => setShare(Math.min(bounds.most, Math.max(bounds.least, next)));
  const keep = (): void => localStorage.setItem(name, String(Math.round(share)));

  const onPointerMove = (event: PointerEvent<HTMLDivElement>): void => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || whole.current === null) return;
    const { left: from, right: to, width } = whole.current.getBoundingClientRect();
    move(((swapped ? to - event.clientX : event.clientX - from) / width) * 100);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const towards = event.key === "ArrowLeft" ? -step : event.key === "ArrowRight" ? step : 0;
    if (towards === 0) return;
    event.preventDefault();
    const next = share + (swapped ? -towards : towards);
    move(next);
    localStorage.setItem(name, String(Math.round(next)));
  };
  return (
    <div ref={whole} className={classNames("flex min-h-0 flex-1", swapped && "flex-row-reverse")}>
      <div className="flex min-w-0 flex-col" style={{ flexBasis: `${share}%` }}>
        {left}
      </div>
      <div
        role="separator"
        aria-orientation="vertical"
        aria-label="Width of the terminal"
        aria-valuemin={bounds.least}
        aria-valuemax={bounds.most}
        aria-valuenow={Math.round(share)}
        tabIndex={0}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={onPointerMove}
        onPointerUp={keep}
        onDoubleClick={() => {
          setShare(bounds.begin);
          localStorage.removeItem(name);
        }}
        onKeyDown={onKeyDown}
        className="relative z-10 w-px shrink-0 cursor-col-resize touch-none bg-line before:absolute before:inset-y-0 before:-right-1 before:-left-1 before:content-[''] hover:bg-accent focus-visible:bg-accent"
      />
      <div className="flex min-w-0 flex-1 flex-col">{right}</div>
    </div>
  );
}

function readShare(): number {
  const kept = Number(localStorage.getItem(name) ?? Number.NaN);
  return kept >= bounds.least && kept <= bounds.most ? kept : bounds.begin;
}
