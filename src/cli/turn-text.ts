import type { SessionSummary } from "../wire/coding.ts";
import type { Block, Turn } from "../wire/turn.ts";
import { plainLine, plainText } from "./plain-text.ts";

/** A turn for people: who, when, the words, and one line for each tool call. */
export function turnText(turn: Turn): string {
  const head = `── ${turn.index} ${turn.role}${turn.at === null ? "" : ` · ${plainLine(turn.at)}`}`;
  const body = turn.blocks.length === 0 ? [plainText(turn.text)] : turn.blocks.map(blockText);
  return [head, ...body.filter((text) => text !== "")].join("\n");
}

/** The words of the agent alone, turn after turn. */
export function answerText(turns: readonly Turn[]): string {
  return turns
    .filter((turn) => turn.role === "assistant")
    .map((turn) => plainText(turn.text).trim())
    .filter((text) => text !== "")
    .join("\n\n");
}

/** One line on how a session stands. */
export function sessionLine(session: SessionSummary): string {
  const facts = [
    session.sessionId,
    session.agent,
    session.activity ?? session.status,
    session.queuedPrompts > 0 ? `${session.queuedPrompts} queued` : "",
    session.exitCode === null ? "" : `exit ${session.exitCode}${session.signal === null ? "" : ` (${session.signal})`}`,
    session.dir,
  ];
  return facts
    .filter((fact) => fact !== "")
    .map(plainLine)
    .join(" · ");
}

/** What stands in the agent's terminal and waits for a person, with the ways to answer it; empty when nothing does. */
export function attentionText({ sessionId, agent, activity, screen, permissions }: SessionSummary): string {
  if (activity !== "needs_attention") return "";
  const id = plainLine(sessionId);
  const lines = plainText(screen ?? "").split("\n");
  const dialog = permissions.find(({ kind, answerable }) => kind === "dialog" && answerable);
  const choices = dialog?.choices ?? [];
  const ways = choices.map(
    ({ choiceId, label }) => `  postern coding answer ${id} --choice ${plainLine(choiceId)}  # ${plainLine(label)}`,
  );
  return [
    `${plainLine(agent)} shows this and is waiting for you:`,
    "",
    ...lines.map((line) => `  │ ${line}`.trimEnd()),
    "",
    ...(ways.length === 0 ? [] : ["Choose:", ...ways]),
    `${ways.length === 0 ? "Answer it" : "Or answer it"} in the terminal with \`postern attach ${id}\`.`,
  ].join("\n");
}

function blockText(block: Block): string {
  switch (block.type) {
    case "text":
      return plainText(block.text);
    case "thinking":
      return "";
    case "tool_call": {
      const outcome = block.result === null ? "…" : block.result.ok ? "ok" : "failed";
      return `[${plainLine(block.name)} ${cut(JSON.stringify(block.input) ?? "")}] ${outcome}`;
    }
  }
}

/** One line of a terminal. */
const maxInputLength = 100;

function cut(text: string): string {
  const line = plainLine(text);
  return line.length <= maxInputLength ? line : `${line.slice(0, maxInputLength)}…`;
}
