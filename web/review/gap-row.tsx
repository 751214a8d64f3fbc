import { ChevronDown, ChevronsUpDown, ChevronUp } from "lucide-react";
import { counted } from "../session/session-words.ts";
import { IconButton } from "../ui/button.tsx";
import type { Gap, PatchLine } from "./patch-lines.ts";
import type { Gaps } from "./use-gaps.ts";

/** Lines that one click opens. */
const step = 20;

/** Unchanged lines that are left out, and the buttons that show them. */
export function GapRow({ line, gap, gaps }: { readonly line: PatchLine; readonly gap: Gap; readonly gaps: Gaps }) {
  const { index, hidden, after } = gap;
  const { busy, problem, open } = gaps;
  const few = hidden !== null && hidden <= step;
  const isLast = line.text === "";
  const [, title = ""] = /^@@[^@]*@@ ?(.*)$/.exec(line.text) ?? [];
  return (
    <div className="sticky left-0 flex w-[100cqw] items-center gap-0.5 bg-panel pr-3 pl-1 text-ink-faint">
      {after && !few && (
        <IconButton
          label={`Show ${step} lines below`}
          icon={ChevronDown}
          disabled={busy}
          onClick={() => open(index, { head: step, tail: 0 })}
        />
      )}
      {!isLast && !few && (
        <IconButton
          label={`Show ${step} lines above`}
          icon={ChevronUp}
          disabled={busy}
          onClick={() => open(index, { head: 0, tail: step })}
        />
      )}
      <IconButton
        label={
          hidden === null
            ? "Show all lines below"
            : few
              ? `Show ${counted(hidden, "line")}`
              : `Show all ${hidden} lines`
        }
        icon={ChevronsUpDown}
        disabled={busy}
        onClick={() => open(index, { head: Number.MAX_SAFE_INTEGER, tail: 0 })}
      />
      <span className="ml-1 min-w-0 truncate font-sans">
        {problem !== null ? <span role="status">{problem}</span> : hidden !== null && counted(hidden, "unchanged line")}
      </span>
      <span className="min-w-0 flex-1 truncate pl-3">{title}</span>
    </div>
  );
}
