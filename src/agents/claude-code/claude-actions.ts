import { z } from "zod";
import type { ToolAction } from "../../wire/permission-rules.ts";
import type { ToolCall } from "../template.ts";

/** Claude Code runs the command with bash or zsh, depending on `SHELL`. Only calls in the foreground and in its sandbox match. */
const bashSchema = z.strictObject({
  command: z.string(),
  description: z.string().optional(),
  timeout: z.number().optional(),
  run_in_background: z.literal(false).optional(),
  dangerouslyDisableSandbox: z.literal(false).optional(),
});

/** Hooks report paths as Claude Code opens them: absolute, without surrounding blanks, and with `~` replaced (2.1.329). */
const pathSchema = z
  .string()
  .regex(/^\/[^\p{C}]*$/u)
  .max(4_000);
const editSchema = z.union([
  z.strictObject({ file_path: pathSchema, content: z.string() }),
  z.strictObject({
    file_path: pathSchema,
    old_string: z.string(),
    new_string: z.string(),
    replace_all: z.boolean().optional(),
  }),
]);
const readSchema = z.strictObject({
  file_path: pathSchema,
  offset: z.number().optional(),
  limit: z.number().optional(),
});

/** What a call of Claude Code would do; null for other tools, and for fields that are not known. */
export function claudeAction({ tool, input }: Pick<ToolCall, "tool" | "input">): ToolAction | null {
  if (tool === "Bash") {
    const line = bashSchema.safeParse(input).data?.command;
    return line === undefined ? null : { tool: "command", line };
  }
  const schema = tool === "Write" || tool === "Edit" ? editSchema : tool === "Read" ? readSchema : null;
  const path = schema?.safeParse(input).data?.file_path;
  if (path === undefined || path !== path.trim()) return null;
  return { tool: tool === "Read" ? "read" : "edit", paths: [path] };
}
