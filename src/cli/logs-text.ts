import type { DeletionPreview, FactPage, LogDetail, LogEntry, LogFact, LogHit } from "../wire/logs.ts";
import { count, plainLine, plainText, table } from "./plain-text.ts";
import { turnText } from "./turn-text.ts";

/** Entries as a person reads them, one a line. */
export function entryTable(logs: readonly LogEntry[]): string {
  const rows = logs.map(({ logId, observedAt, source, status, sessionId, title }) => [
    observedAt,
    logId,
    status === "ready" ? source : `${source}, ${status}`,
    sessionId ?? "-",
    title ?? "(no title)",
  ]);
  return table(["TIME", "LOG", "SOURCE", "SESSION", "TITLE"], rows);
}

/** An entry that was found, with the text around the words. */
export function hitText({ log, snippet }: LogHit, mark: (text: string) => string): string {
  const facts = [log.logId, log.observedAt, ...(log.sessionId === null ? [log.source] : [log.sessionId])];
  return [
    mark(plainLine(log.title ?? "(no title)")),
    `  ${facts.map(plainLine).join(" · ")}`,
    `  ${mark(plainLine(snippet))}`,
  ].join("\n");
}

/** Facts, one a line. */
export function factTable({ facts }: Pick<FactPage, "facts">): string {
  const rows = facts.map((fact) => [
    fact.validFrom,
    fact.validTo ?? "now",
    thing(fact.subject),
    fact.predicate,
    objectText(fact),
    fact.logId,
  ]);
  return table(["SINCE", "UNTIL", "SUBJECT", "PREDICATE", "OBJECT", "LOG"], rows);
}

/** An entry with all that is known from it. */
export function detailText(log: LogDetail): string {
  const head = [
    plainLine(log.title ?? "(no title)"),
    `Log: ${plainLine(log.logId)} · ${log.source} · ${log.status}${log.failure === null ? "" : ` (${plainLine(log.failure)})`}`,
    ...(log.sessionId === null ? [] : [`Session: ${plainLine(log.sessionId)}`]),
    ...(log.dir === null ? [] : [`Directory: ${plainLine(log.dir)}`]),
    `Happened: ${log.observedAt} · Recorded: ${log.recordedAt}`,
  ].join("\n");
  const body = log.turns === null ? plainText(log.content ?? "") : log.turns.map(turnText).join("\n\n");
  return [head, body, ...(log.facts.length === 0 ? [] : [factTable(log)])].join("\n\n");
}

/** What would go, and what would stay. */
export function previewText({ removed, shared }: DeletionPreview): string {
  const { facts, statements, entities } = removed;
  const gone = `${count(facts, "fact")}, ${count(statements, "statement")} and ${count(entities, "entity", "entities")} will be permanently deleted.`;
  if (shared.statements + shared.entities === 0) return gone;
  return `${gone} ${count(shared.statements, "statement")} and ${count(shared.entities, "entity", "entities")} stay, because other entries share them.`;
}

function objectText({ object, value }: LogFact): string {
  return object === null ? (value ?? "") : thing(object);
}

function thing({ type, key }: LogFact["subject"]): string {
  return `${type}:${key}`;
}
