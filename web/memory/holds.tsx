import type { LogFact } from "../../src/wire/logs.ts";
import { Badge } from "../ui/badge.tsx";
import { exactTime } from "../ui/time.ts";
import { isState } from "./fact-words.ts";

/** Whether a fact is still so, or until when it was; nothing for what happened once. */
export function Holds({ fact }: { readonly fact: Pick<LogFact, "predicate" | "validTo"> }) {
  if (!isState(fact.predicate)) return null;
  const again = fact.predicate === "last_exit";
  if (fact.validTo === null) return <Badge tone="accent">{again ? "last run" : "still so"}</Badge>;
  return (
    <span className="text-2xs whitespace-nowrap text-ink-faint">
      {again ? "run again" : "until"} <time dateTime={fact.validTo}>{exactTime(fact.validTo)}</time>
    </span>
  );
}

/** Which extractor found a fact, where it was not the rules: a model may be wrong. */
export function FoundBy({ extractor }: Pick<LogFact, "extractor">) {
  if (extractor.startsWith("rules@")) return null;
  return (
    <span title={`Found by ${extractor}`}>
      <Badge>by a model</Badge>
    </span>
  );
}
