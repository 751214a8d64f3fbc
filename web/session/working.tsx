import { useEffect, useState } from "react";
import type { Turn } from "../../src/wire/turn.ts";
import { summaryOfTool, toolName } from "./tool-summary.ts";

const tickMs = 1_000;

/** Shows what the agent is doing, and for how long. */
export function Working({ agent, turns }: { readonly agent: string; readonly turns: readonly Turn[] }) {
  const now = useNow();
  const prompt = turns.findLast(({ role }) => role === "user");
  const last = turns.at(-1);
  const call = last?.role === "assistant" ? last.blocks.at(-1) : undefined;
  const tool = call?.type === "tool_call" && call.result === null ? call : null;
  const elapsed = prompt?.at == null ? "" : elapsedWords(now - Date.parse(prompt.at));
  return (
    <div className="flex min-w-0 items-center gap-2 px-4 py-2 text-xs text-ink-faint">
      <span aria-hidden className="size-1.5 shrink-0 animate-pulse rounded-full bg-accent" />
      <span role="status" className="shrink-0">
        {agent} is working
      </span>
      {/* Not announced every second. */}
      {elapsed !== "" && <span className="shrink-0 tabular-nums">{elapsed}</span>}
      {tool !== null && (
        <span className="min-w-0 truncate">
          · {toolName(tool.name)} <span className="font-mono text-2xs">{summaryOfTool(tool.input)}</span>
        </span>
      )}
    </div>
  );
}

function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), tickMs);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** `42 s`, `3 min 05 s`, `1 h 20 min`. Empty for a time in the future. */
export function elapsedWords(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (!(seconds >= 0)) return "";
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
