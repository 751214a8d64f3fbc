import { z } from "zod";

/** How a prompt reaches the agent: as text, or as one of its commands. */
export const promptKindSchema = z.enum(["text", "command"]);

/** `kind` of `coding_ask`. */
export const askKindSchema = promptKindSchema.describe(
  "`text` (default): a prompt; commands are refused. `command`: one of the agent's commands that are safe to send, such as `/compact`, typed into its composer. Completions list these commands with `kind: command`; others are refused with `command_not_sendable`. Needs the scope `coding:drive`. If the command starts no turn, `delivered` is null, and `waitMs` ends when it has been typed.",
);
