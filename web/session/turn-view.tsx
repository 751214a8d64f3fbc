import { Brain, ChevronRight, CircleStop, GitFork, Link2 } from "lucide-react";
import { memo, useMemo, useState } from "react";
import type { Block, Turn, Usage } from "../../src/wire/turn.ts";
import { useMay } from "../api/sign-in.ts";
import { IconButton } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { exactTime, timeWords } from "../ui/time.tsx";
import { requestFork } from "./fork-request.ts";
import { Markdown } from "./markdown-view.tsx";
import { PromptFiles, ShownTurn } from "./pictures.tsx";
import { pageAddress } from "./session-menu.tsx";
import { tokenWords } from "./session-words.ts";
import { ToolCall } from "./tool-call.tsx";
import { runsOf, ToolRun } from "./tool-run.tsx";

/** A prompt, or everything the agent did until the next one. */
export const TurnView = memo(function TurnView(props: {
  readonly turn: Turn;
  readonly agent: string;
  readonly running: boolean;
  readonly current: boolean;
  /** The session of the page that shows the turn; undefined if turns have no address. */
  readonly sessionId?: string;
  readonly onPlay: ((at: string) => void) | undefined;
}) {
  const { turn, agent, running, current, sessionId, onPlay } = props;
  const { role, at, text, model, usage } = turn;
  const mine = role === "user";
  // A prompt without an answer has nothing to continue from.
  const mayFork = useMay("coding:write") && !mine;
  const place = useMemo(
    () => (sessionId === undefined ? null : { sessionId, turn: turn.index }),
    [sessionId, turn.index],
  );
  return (
    <article
      aria-label={mine ? "You" : agent}
      data-turn={turn.index}
      className={classNames("turn group/turn px-4 py-3", current && "bg-accent-soft/50")}
    >
      <header className="mb-1 flex h-6 items-center gap-2 text-xs">
        <span className={classNames("font-semibold", mine ? "text-accent" : "text-ink")}>{mine ? "You" : agent}</span>
        {at !== null && <TurnTime at={at} onPlay={onPlay} />}
        <span className="ml-auto opacity-0 group-focus-within/turn:opacity-100 group-hover/turn:opacity-100 pointer-coarse:opacity-100">
          {text !== "" && <CopyButton text={text} label={mine ? "Copy prompt" : "Copy answer"} />}
          {sessionId !== undefined && (
            <>
              <CopyButton text={pageAddress(sessionId, turn.index)} label="Copy link to this turn" icon={Link2} />
              {mayFork && (
                <IconButton
                  label="Fork from here"
                  icon={GitFork}
                  onClick={() => requestFork({ sessionId, turn: turn.index })}
                />
              )}
            </>
          )}
        </span>
      </header>
      {mine ? (
        <div className="rounded-lg border-l-2 border-accent bg-panel px-3 py-2 whitespace-pre-wrap">
          {turn.images !== undefined && text === "[image]" ? null : text}
          {(turn.images !== undefined || turn.attachments !== undefined) && (
            <PromptFiles images={turn.images ?? []} attachments={turn.attachments ?? []} />
          )}
        </div>
      ) : (
        <ShownTurn value={place}>
          <div className="flex flex-col gap-2">
            {runsOf(turn.blocks).map((run, index) =>
              run.length === 1 ? (
                run.map((block) => <TurnBlock key={keyOf(block, index)} block={block} running={running} />)
              ) : (
                <ToolRun key={`run ${keyOf(run[0], index)}`} calls={run} running={running} />
              ),
            )}
          </div>
        </ShownTurn>
      )}
      {turn.interrupted === true && (
        <p className="mt-2 flex items-center gap-1.5 text-xs font-medium text-lamp">
          <CircleStop aria-hidden className="size-3.5" /> Interrupted
        </p>
      )}
      {!mine && (model !== null || usage !== null) && <SmallPrint model={model} usage={usage} />}
    </article>
  );
});

function keyOf(block: Block | undefined, index: number): string {
  return block?.type === "tool_call" ? block.id : `${index}`;
}

function TurnBlock({ block, running }: { readonly block: Block; readonly running: boolean }) {
  switch (block.type) {
    case "text":
      return <Markdown text={block.text} />;
    case "tool_call":
      return <ToolCall call={block} running={running} />;
    case "thinking":
      return block.text.trim() === "" ? null : (
        <details className="group/think text-xs text-ink-soft">
          <summary className="flex cursor-pointer list-none items-center gap-2 rounded px-2.5 py-1 text-ink-faint hover:text-ink">
            <ChevronRight aria-hidden className="size-3.5 group-open/think:rotate-90" />
            <Brain aria-hidden className="size-3.5" /> Thinking
          </summary>
          <div className="ml-4 border-l border-line pl-4 italic">
            <Markdown text={block.text} />
          </div>
        </details>
      );
  }
}

function TurnTime({ at, onPlay }: { readonly at: string; readonly onPlay: ((at: string) => void) | undefined }) {
  const [now] = useState(Date.now);
  const words = timeWords(at, now);
  const time = (
    <time dateTime={at} title={exactTime(at)}>
      {words}
    </time>
  );
  if (onPlay === undefined) return <span className="text-2xs text-ink-faint">{time}</span>;
  return (
    <button
      type="button"
      aria-label={`Play recording from ${words}`}
      onClick={() => onPlay(at)}
      className="rounded px-1 text-2xs text-ink-faint underline decoration-dotted underline-offset-2 hover:text-ink"
    >
      {time}
    </button>
  );
}

function SmallPrint({ model, usage }: { readonly model: string | null; readonly usage: Usage | null }) {
  const parts = [
    model,
    usage === null ? null : `${tokenWords(usage.inputTokens)} in`,
    usage === null || usage.cacheReadTokens === 0 ? null : `${tokenWords(usage.cacheReadTokens)} cached`,
    usage === null ? null : `${tokenWords(usage.outputTokens)} out`,
  ].filter((part) => part !== null);
  return <p className="mt-2 font-mono text-2xs text-ink-faint">{parts.join(" · ")}</p>;
}
