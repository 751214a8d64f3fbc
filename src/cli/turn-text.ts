import type { SessionSummary } from "../wire/coding.ts";
import { idleEndWords } from "../wire/idle-words.ts";
import type { Block, Turn } from "../wire/turn.ts";
import { plainLine, plainText } from "./plain-text.ts";

/** A turn as text: role, time, text, and one line for each tool call. */
export function turnText(turn: Turn): string {
  const head = `── ${turn.index} ${turn.role}${turn.at === null ? "" : ` · ${plainLine(turn.at)}`}`;
  const body = turn.blocks.length === 0 ? [plainText(turn.text)] : turn.blocks.map(blockText);
  return [head, ...body.filter((text) => text !== "")].join("\n");
}

/** The text of the agent's turns. */
export function answerText(turns: readonly Turn[]): string {
  return turns
    .filter((turn) => turn.role === "assistant")
    .map((turn) => plainText(turn.text).trim())
    .filter((text) => text !== "")
    .join("\n\n");
}

/** A session's state on one line. */
export function sessionLine(session: SessionSummary): string {
  const facts = [
    session.sessionId,
    session.agent,
    session.activity ?? endWords(session),
    session.queuedPrompts > 0 ? `${session.queuedPrompts} queued` : "",
    session.exitCode === null || session.endedAfterIdleMs !== null
      ? ""
      : `exit ${session.exitCode}${session.signal === null ? "" : ` (${session.signal})`}`,
    session.dir,
  ];
  return facts
    .filter((fact) => fact !== "")
    .map(plainLine)
    .join(" · ");
}

/** The status, or that the agent was ended because it was idle. */
export function endWords({ status, endedAfterIdleMs }: Pick<SessionSummary, "status" | "endedAfterIdleMs">): string {
  return endedAfterIdleMs === null ? status : idleEndWords(endedAfterIdleMs);
}

/** The agent's screen while it needs attention, with the commands that answer it; empty otherwise. */
export function attentionText({ sessionId, agent, activity, screen, permissions }: SessionSummary): string {
  if (activity !== "needs_attention") return "";
  const id = plainLine(sessionId);
  const dialog = permissions.find(({ kind, answerable }) => kind === "dialog" && answerable);
  const choices = dialog?.choices ?? [];
  const ways = choices.map(
    ({ choiceId, label }) => `  postern coding answer ${id} --choice ${plainLine(choiceId)}  # ${plainLine(label)}`,
  );
  return [
    `${plainLine(agent)} shows this and is waiting for you:`,
    "",
    framed(screen ?? ""),
    "",
    ...(ways.length === 0 ? [] : ["Answer with one of:", ...ways]),
    `${ways.length === 0 ? "Answer" : "Or answer"} in the terminal with \`postern attach ${id}\`.`,
  ].join("\n");
}

/** The last output of an agent that ended. */
export function lastScreenText(screen: string): string {
  const text = plainText(screen).trimEnd();
  return text === "" ? "The agent's last screen is empty." : `The agent's last screen:\n\n${framed(text)}\n`;
}

function framed(screen: string): string {
  const lines = plainText(screen).split("\n");
  return lines.map((line) => `  │ ${line}`.trimEnd()).join("\n");
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
