import { ChevronRight, CircleX, Layers } from "lucide-react";
import { useContext, useState } from "react";
import type { Block } from "../../src/wire/turn.ts";
import { classNames } from "../ui/class-names.ts";
import { counted } from "./session-words.ts";
import { type Call, callContains, ToolCall } from "./tool-call.tsx";
import { kindOfTool, type ToolKind } from "./tool-summary.ts";
import { SearchedText } from "./turn-search.tsx";

/** Fewer calls in a row are easier to read one by one. */
const minRun = 6;

/** The blocks of a turn; many tool calls in a row are one run. */
export function runsOf(blocks: readonly Block[]): readonly (readonly Block[])[] {
  const runs: Block[][] = [];
  for (const block of blocks) {
    const run = runs.at(-1);
    // Empty thinking is not shown.
    if (block.type === "thinking" && block.text.trim() === "") continue;
    if (block.type === "tool_call" && run?.[0]?.type === "tool_call") run.push(block);
    else runs.push([block]);
  }
  return runs.flatMap((run) => (run.length < minRun ? run.map((block) => [block]) : [run]));
}

/** Many calls in a row: a summary and the running call. The others are shown on request. */
export function ToolRun({ calls: blocks, running }: { readonly calls: readonly Block[]; readonly running: boolean }) {
  const [open, setOpen] = useState(false);
  const searched = useContext(SearchedText);
  const calls = blocks.filter((block) => block.type === "tool_call");
  const failed = calls.filter(({ result }) => result?.ok === false).length;
  const found = searched !== "" && calls.some((call) => callContains(call, searched));
  const shown = open || found ? calls : calls.filter(({ result }) => result === null && running).slice(-1);
  return (
    <div className="flex flex-col gap-2">
      <button
        type="button"
        aria-expanded={open || found}
        onClick={() => setOpen(!open)}
        className="flex min-w-0 items-center gap-2 rounded-lg border border-line bg-well px-2.5 py-1.5 text-left text-xs hover:bg-hover pointer-coarse:min-h-11"
      >
        <ChevronRight
          aria-hidden
          className={classNames("size-3.5 shrink-0 text-ink-faint", (open || found) && "rotate-90")}
        />
        <Layers aria-hidden className="size-3.5 shrink-0 text-ink-faint" />
        <span className="min-w-0 flex-1 truncate font-medium">{runWords(calls)}</span>
        {failed > 0 && (
          <span className="inline-flex shrink-0 items-center gap-1 text-danger">
            <CircleX aria-hidden className="size-3.5" /> {failed} failed
          </span>
        )}
      </button>
      {shown.map((call) => (
        <ToolCall key={call.id} call={call} running={running} quiet />
      ))}
    </div>
  );
}

const nouns: Readonly<Record<ToolKind, string>> = {
  edit: "edit",
  read: "read",
  command: "command",
  search: "search",
  web: "web request",
  plan: "plan",
  task: "task",
  question: "question",
  other: "call",
};

/** `12 edits, 8 reads`, most frequent first. */
export function runWords(calls: readonly Pick<Call, "name" | "input">[]): string {
  const counts = [...Map.groupBy(calls, kindOfTool)].toSorted(([, a], [, b]) => b.length - a.length);
  const words = counts.map(([kind, { length }]) => counted(length, nouns[kind]).replace(/searchs$/, "searches"));
  return words.join(", ");
}
