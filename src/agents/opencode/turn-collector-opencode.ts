import type { CollectorMemory, CollectorTurn } from "../../transcripts/index.ts";
import { parseLine, stringAt } from "../../transcripts/index.ts";
import { openCodeId, openCodeLineKind, openCodePart, openCodePrompt } from "./opencode-events.ts";

/** What an event of OpenCode says. `command` holds the newest text's id: it is told again when it has ended. */
export function readOpenCodeText(bytes: Buffer, memory: CollectorMemory, turn: CollectorTurn | null): void {
  if (turn === null || openCodeLineKind(bytes) !== "part") return;
  if (turn.mark.role === "user" && !turn.begins) return;
  const line = parseLine(bytes);
  if (line === null) return;
  const part = openCodePart(line);
  if (turn.mark.role === "user") {
    const prompt = openCodePrompt(part);
    if (prompt !== null) turn.say(prompt);
    return;
  }
  const [id, text] = [openCodeId(part), stringAt(part, "text") ?? ""];
  if (part["type"] !== "text" || part["synthetic"] === true || text === "" || memory.command === id) return;
  memory.command = id;
  turn.say(text);
}
