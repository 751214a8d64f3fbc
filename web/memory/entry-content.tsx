import { useMemo, useState } from "react";
import type { LogDetail } from "../../src/wire/logs.ts";
import type { Turn } from "../../src/wire/turn.ts";
import { TurnView } from "../session/turn-view.tsx";
import { Button } from "../ui/button.tsx";
import { agentName } from "../ui/session-state.ts";
import { visibleText } from "../ui/visible-text.ts";

/** Of a long entry so much is shown at first. */
const turnsFirst = 12;
const charactersFirst = 8_000;

/** What was said, as text or as turns. Untrusted: nothing in it does anything but stand there. */
export function EntryContent({ log }: { readonly log: LogDetail }) {
  const [all, setAll] = useState(false);
  const turns = useMemo(() => (log.turns ?? []).map(visibleTurn), [log.turns]);
  const text = visibleText(log.content ?? "");
  const shownTurns = all ? turns : turns.slice(0, turnsFirst);
  const shownText = all ? text : text.slice(0, charactersFirst);
  const isCut = shownTurns.length < turns.length || shownText.length < text.length;
  const agent = log.facts.find(({ predicate }) => predicate === "by_agent")?.value ?? null;
  return (
    <div className="overflow-hidden rounded-xl border border-line bg-panel [&_.turn]:[content-visibility:visible]!">
      {log.turns === null ? (
        <p className="wrap-anywhere px-4 py-3 whitespace-pre-wrap">
          <bdi>{shownText}</bdi>
        </p>
      ) : (
        shownTurns.map((turn) => (
          <TurnView
            key={turn.index}
            turn={turn}
            agent={agent === null ? "Agent" : agentName(agent)}
            running={false}
            current={false}
            onPlay={undefined}
          />
        ))
      )}
      {isCut && (
        <div className="flex justify-center border-t border-line py-2">
          <Button variant="ghost" onClick={() => setAll(true)}>
            {log.turns === null ? "Show the whole text" : `Show all ${turns.length} turns`}
          </Button>
        </div>
      )}
    </div>
  );
}

function visibleTurn(turn: Turn): Turn {
  const blocks = turn.blocks.map((block) =>
    block.type === "text" ? { ...block, text: visibleText(block.text) } : block,
  );
  return { ...turn, text: visibleText(turn.text), blocks };
}
