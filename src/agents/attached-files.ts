import { attachedPathLine } from "../transcripts/index.ts";
import type { AgentTemplate, AttachedFile } from "./template.ts";

/** A prompt with its files, in the form that suits the agent best. */
export interface HandedPrompt {
  readonly text: string;
  /** Paths of files that are passed separately from the text: as arguments, or pasted one by one before it. */
  readonly beside: readonly string[];
  /** What the composer shows for the pasted files. */
  readonly shown: string;
}

/** How a prompt with these files is passed to this agent. */
export function handOver(
  { attachments }: Pick<AgentTemplate, "attachments">,
  text: string,
  files: readonly AttachedFile[],
): HandedPrompt {
  const beside = files.filter((file) => attachments?.beside?.takes(file) === true);
  const named = files.filter((file) => !beside.includes(file)).map(({ path }) => path);
  return {
    text: withLines(text, named.map(attachments?.lineFor ?? attachedPathLine)),
    beside: beside.map(({ path }) => path),
    shown: beside.map((_, index) => `${attachments?.beside?.placeholder(index + 1)} `).join(""),
  };
}

/** The text with one line for each of these files. */
export function withLines(text: string, lines: readonly string[]): string {
  return lines.length === 0 ? text : `${text}\n\n${lines.join("\n")}`;
}
