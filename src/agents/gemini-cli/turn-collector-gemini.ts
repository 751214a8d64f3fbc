import type { CollectorMemory, CollectorTurn } from "../../transcripts/index.ts";
import { parseLine } from "../../transcripts/index.ts";
import { geminiId, geminiLineKind, geminiText, isGeminiAnswer, readGeminiUser } from "./gemini-lines.ts";

/** What a line of Gemini CLI says. `command` holds the newest answer: it is written again when its calls have ended. */
export function readGeminiText(bytes: Buffer, memory: CollectorMemory, turn: CollectorTurn | null): void {
  if (turn === null) return;
  const kind = geminiLineKind(bytes);
  if (kind === "user" && turn.begins && turn.mark.role === "user") {
    const line = parseLine(bytes);
    const said = line === null ? null : readGeminiUser(line);
    if (said?.kind === "prompt") turn.say(said.text);
  } else if (kind === "answer" && turn.mark.role === "assistant") {
    const line = parseLine(bytes);
    if (line === null || !isGeminiAnswer(line)) return;
    const id = geminiId(line);
    if (memory.command === id && !turn.begins) return;
    memory.command = id;
    turn.say(geminiText(line["content"]));
  }
}
