import type { Turn } from "../../src/wire/turn.ts";

/** Turns in one line each, for tests: `user: hello` or `assistant: (thinking) | text | Bash ok "output"`. */
export function outline(turns: readonly Turn[]): string[] {
  return turns.map((turn) => `${turn.role}: ${turn.blocks.map(blockOutline).join(" | ")}`);
}

function blockOutline(block: Turn["blocks"][number]): string {
  if (block.type === "text") return block.text;
  if (block.type === "thinking") return `(${block.text})`;
  if (block.result === null) return `${block.name} open`;
  return `${block.name} ${block.result.ok ? "ok" : "failed"} ${JSON.stringify(block.result.text)}`;
}
