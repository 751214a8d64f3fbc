import type { ReadOutput } from "../wire/coding.ts";
import type { Block, Turn } from "../wire/turn.ts";
import { untrustedNotice } from "./instructions.ts";

/** What a client may well put into the context of an LLM. The newest turns are kept. */
export const maxConversationChars = 200_000;
const maxTurnChars = 40_000;
const maxToolChars = 2_000;

// Controls but newline and tab, and the marks that reverse the order of what follows: a reader's terminal may act on them.
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** A session for readers: how it stands, then its conversation, marked as what it is. */
export function conversationText(session: ReadOutput): string {
  const head = [
    untrustedNotice,
    "",
    `Session ${session.sessionId}`,
    `Title: ${line(session.title ?? "(none)")}`,
    `Agent: ${session.agent} · Directory: ${line(session.dir)}`,
    `Status: ${session.status}${session.activity === null ? "" : ` · ${session.activity.replaceAll("_", " ")}`}`,
    `Turns: ${session.turnCount} · Updated: ${session.updatedAt}`,
    ...session.permissions.map(({ permissionId, tool }) => `Waits for a permission: ${line(tool)} (${permissionId})`),
  ].join("\n");
  const kept: string[] = [];
  let room = maxConversationChars - head.length;
  for (const turn of session.turns.toReversed()) {
    const text = turnText(turn);
    if (text.length > room) break;
    room -= text.length;
    kept.unshift(text);
  }
  const first = session.turns[session.turns.length - kept.length]?.index ?? 0;
  const missing = first > 0 ? [`(${first} earlier turns are left out; coding_read_session has them.)`] : [];
  return [head, ...missing, ...kept].join("\n\n");
}

/** Text of a transcript on one line, without what a terminal may act on. */
export function line(text: string): string {
  return text.replace(controls, "").replace(/\s+/g, " ").trim();
}

function turnText({ index, role, at, text, blocks }: Turn): string {
  const body = blocks.length === 0 ? [text] : blocks.map(blockText).filter((part) => part !== "");
  const head = `## ${index} ${role}${at === null ? "" : ` · ${at}`}`;
  return cut([head, ...body].join("\n\n").replace(controls, ""), maxTurnChars);
}

function blockText(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "thinking":
      return "";
    case "tool_call": {
      const input = cut(JSON.stringify(block.input) ?? "", maxToolChars);
      const outcome = block.result === null ? "(no result yet)" : cut(block.result.text, maxToolChars);
      return `[tool ${line(block.name)} ${input}]${block.result?.ok === false ? " failed" : ""}\n${outcome}`;
    }
  }
}

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}… (${text.length - maxChars} more characters)`;
}
