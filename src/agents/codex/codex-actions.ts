import { z } from "zod";
import type { ToolAction } from "../../wire/permission-rules.ts";
import type { ToolCall } from "../template.ts";

/**
 * Codex reports the command and why it needs permission, but not the call's other fields: `workdir` is the report's `cwd`, and a `shell`
 * other than the machine's bash, zsh or sh is not used (0.169.0).
 */
const callSchema = z.strictObject({ command: z.string(), description: z.string().nullish() });

/** What a call of Codex would do; null for other tools, and for fields that are not known. */
export function codexToolAction({ tool, input }: Pick<ToolCall, "tool" | "input">): ToolAction | null {
  const command = callSchema.safeParse(input).data?.command;
  if (command === undefined) return null;
  if (tool === "Bash") return { tool: "command", line: command };
  const paths = tool === "apply_patch" ? patchedFiles(command) : null;
  return paths === null ? null : { tool: "edit", paths };
}

// The hook cuts a longer patch, so some of its files may be missing.
const maxPatchLength = 16_000;
const header = /^\*\*\* (?:Add|Update) File: ([^\s\p{C}](?:[^\p{C}]*[^\s\p{C}])?)$/u;

/** The files that a patch adds or changes; null if it also deletes or moves one, or is not certainly a patch. */
function patchedFiles(patch: string): readonly string[] | null {
  if (patch.length > maxPatchLength) return null;
  const lines = patch.trimEnd().split("\n");
  if (lines[0] !== "*** Begin Patch" || lines.at(-1) !== "*** End Patch") return null;
  const files: string[] = [];
  for (const line of lines.slice(1, -1)) {
    const file = header.exec(line)?.[1];
    if (file !== undefined) files.push(file);
    // Codex ignores blanks around a header.
    else if (line.trim().startsWith("***") && line !== "*** End of File") return null;
    else if (line !== "" && !/^[ +@-]/.test(line)) return null;
  }
  return files.length === 0 || files.some((file) => file.startsWith("~")) ? null : files;
}
