import type { TranscriptFormat, TranscriptFormats } from "../transcripts/index.ts";
import { claudeFormat } from "./claude-code/claude-format.ts";
import { codexFormat } from "./codex/codex-format.ts";
import { geminiFormat } from "./gemini-cli/gemini-format.ts";
import { openCodeFormat } from "./opencode/opencode-format.ts";

/** The transcript formats, by the names in templates, the configuration and the catalog. */
export const transcriptFormats = {
  claude: claudeFormat,
  codex: codexFormat,
  gemini: geminiFormat,
  opencode: openCodeFormat,
} satisfies TranscriptFormats;

export type FormatName = keyof typeof transcriptFormats;

/** A format by its name in the catalog. @throws Error for an unknown name */
export function transcriptFormat(name: string): TranscriptFormat {
  const format = Object.entries(transcriptFormats).find(([known]) => known === name)?.[1];
  if (format === undefined) throw new Error(`unknown transcript format ${name}`);
  return format;
}
