import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef, useState } from "react";

const name = "postern.split";
const bounds = { least: 25, most: 75, begin: 56 } as const;
/** Of the whole, for an arrow key. */
const step = 2;

/** Two parts beside each other, with a line between them that can be moved by pointer and by keys. It is remembered. */
export function SplitView({ left, right }: { readonly left: ReactNode; readonly right: ReactNode }) {
  const whole = useRef<HTMLDivElement>(null);
  const [share, setShare] = useState(readShare);
  const move = (next: number): void => setShare(Math.min(bounds.most, Math.max(bounds.least, next)));
  const keep = (): void => localStorage.setItem(name, String(Math.round(share)));

  const onPointerMove = (event: PointerEvent<HTMLDivElement>): void => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || whole.current === null) return;
    const { left: from, width } = whole.current.getBoundingClientRect();
    move(((event.clientX - from) / width) * 100);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowLeft" ? -step : event.key === "ArrowRight" ? step : 0;
    if (by === 0) return;
    event.preventDefault();
    move(share + by);
    localStorage.setItem(name, String(Math.round(share + by)));
  };
  return (
    <div ref={whole} className="flex min-h-0 flex-1">
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
        onDoubleClick={() => setShare(bounds.begin)}
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
