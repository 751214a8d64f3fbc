import { AArrowDown, AArrowUp, Accessibility, Eye, Maximize2, Search } from "lucide-react";
import { changePreferences, terminalFontRange, usePreferences } from "../app/preferences.ts";
import { Lamp } from "../ui/badge.tsx";
import { IconButton } from "../ui/button.tsx";
import type { LampTone } from "../ui/session-state.ts";
import type { ConnectionState } from "./terminal-protocol.ts";

/** How the terminal stands, who looks on, and what can be done with the view of it. */
export function TerminalBar({
  state,
  size,
  onFind,
  onTakeSize,
}: {
  readonly state: ConnectionState;
  readonly size: { readonly cols: number; readonly rows: number } | null;
  readonly onFind: () => void;
  readonly onTakeSize: () => void;
}) {
  const { terminalFontPx, terminalScreenReader: screenReader } = usePreferences();
  const { tone, words } = standing(state);
  const viewers = state.kind === "live" ? state.viewers : null;
  const others = viewers === null ? 0 : viewers.drivers + viewers.observers - 1;
  const canTakeSize = state.kind === "live" && state.mode === "drive" && viewers?.sizer === false;
  const font = (by: number): void => {
    const px = Math.min(terminalFontRange.max, Math.max(terminalFontRange.min, terminalFontPx + by));
    changePreferences({ terminalFontPx: px });
  };
  return (
    <div className="flex h-9 shrink-0 items-center gap-2 border-b border-line bg-panel pr-1 pl-3 text-xs text-ink-soft pointer-coarse:h-11">
      <Lamp tone={tone} className="animate-none" />
      <span role="status" className="truncate">
        {words}
      </span>
      {others > 0 && (
        <span className="inline-flex items-center gap-1 text-ink-faint" title={watching(others)}>
          <Eye aria-hidden className="size-3.5" />
          <span className="sr-only">{watching(others)}</span>
          <span aria-hidden>{others}</span>
        </span>
      )}
      <span className="ml-auto hidden font-mono text-2xs text-ink-faint sm:inline">
        {size !== null && `${size.cols}×${size.rows}`}
      </span>
      <div className="flex items-center max-sm:ml-auto">
        {canTakeSize && <IconButton label="Fit terminal to this window" icon={Maximize2} onClick={onTakeSize} />}
        <IconButton label="Search the terminal (Ctrl+F)" icon={Search} onClick={onFind} />
        <IconButton label="Decrease font size" icon={AArrowDown} onClick={() => font(-1)} />
        <IconButton label="Increase font size" icon={AArrowUp} onClick={() => font(1)} />
        <IconButton
          label="Text for screen readers"
          icon={Accessibility}
          aria-pressed={screenReader}
          className={screenReader ? "bg-accent-soft text-accent" : "max-sm:hidden"}
          onClick={() => changePreferences({ terminalScreenReader: !screenReader })}
        />
      </div>
    </div>
  );
}

function watching(others: number): string {
  return others === 1 ? "1 other viewer" : `${others} other viewers`;
}

function standing(state: ConnectionState): { readonly tone: LampTone; readonly words: string } {
  switch (state.kind) {
    case "connecting":
      return { tone: "idle", words: state.again ? "Reconnecting…" : "Connecting…" };
    case "live":
      return { tone: "working", words: state.mode === "drive" ? "Live" : "Live, view only" };
    case "waiting":
      return { tone: "limited", words: "Not connected" };
    case "ended":
      return { tone: "ended", words: "Ended" };
    case "stopped":
      return { tone: "failed", words: "Not connected" };
  }
}
