import type { Block, Turn } from "../wire/turn.ts";
import type { ConversationFormat } from "./export-session.ts";
import { fenced, inertInline, inertMarkdown } from "./markdown-text.ts";
import { inputText, purposeOf } from "./masked-turn.ts";

/** Markdown: only turns are headings of the second level. */
export const markdownFormat: ConversationFormat = {
  images: false,
  head: ({ title, agent, sessionId, dir, createdAt }) => {
    const facts = [agent, createdAt, `session ${sessionId}`, ...(dir === null ? [] : [dir])];
    return `# ${inertInline(title ?? "Session")}\n\n${facts.map(inertInline).join(" · ")}\n`;
  },
  turn: (turn, { agent }) => {
    const who = turn.role === "user" ? "You" : agent;
    const facts = [who, ...(turn.at === null ? [] : [turn.at]), ...(turn.interrupted === true ? ["interrupted"] : [])];
    const files = (turn.attachments ?? []).map(({ name }) => `(file ${inertInline(name)})`);
    const parts = [...files, ...blocksOf(turn).map(blockText)].filter((part) => part !== "");
    return `\n## ${inertInline(facts.join(" · "))}\n${parts.map((part) => `\n${part}\n`).join("")}`;
  },
  end: ({ cutAt }) => (cutAt === null ? "" : `\n(The conversation is longer. It is cut off after turn ${cutAt}.)\n`),
};

/** A prompt's turn may have no blocks. */
export function blocksOf({ blocks, text }: Turn): readonly Block[] {
  return blocks.length > 0 || text === "" ? blocks : [{ type: "text", text }];
}

function blockText(block: Block): string {
  if (block.type === "text") return inertMarkdown(block.text);
  if (block.type === "thinking") return `*Thinking*\n\n${fenced(block.text)}`;
  const purpose = purposeOf(block.input);
  const title = `**${inertInline(block.name)}**${purpose === null ? "" : ` ${inertInline(purpose)}`}`;
  const { result } = block;
  const end = result === null ? "No result" : result.ok ? "Result" : "Failed";
  const output = result === null || result.text === "" ? "" : `\n\n${fenced(result.text)}`;
  const cutOff = result?.truncated === true ? " (cut off)" : "";
  return `${title}\n\n${fenced(inputText(block.input), typeof block.input === "string" ? "" : "json")}\n\n${end}${cutOff}${output}`;
}
