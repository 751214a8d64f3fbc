import { codexPayload } from "../transcripts/codex-lines.ts";
import { fieldsAt, parseLine, stringAt } from "../transcripts/json-fields.ts";
import { isSubagentSession } from "../transcripts/opencode-events.ts";
import type { TranscriptFormat } from "../transcripts/transcript.ts";

/** Whether the transcript that begins with this line is no session of its own, as far as the line tells. */
export function isPart(format: TranscriptFormat, first: Buffer): boolean {
  if (format === "gemini") return true;
  return (format === "codex" && isSubagentMeta(first)) || (format === "opencode" && isSubagentSession(first));
}

/** Codex gives each sub-agent a rollout of its own, which says whose it is in its first line. */
function isSubagentMeta(bytes: Buffer): boolean {
  if (!bytes.includes('"parent_thread_id"') && !bytes.includes('"subagent"')) return false;
  const line = parseLine(bytes);
  if (line === null) return false;
  const meta = codexPayload(line);
  return (
    stringAt(meta, "parent_thread_id") !== null ||
    stringAt(meta, "thread_source") === "subagent" ||
    "subagent" in fieldsAt(meta, "source")
  );
}
