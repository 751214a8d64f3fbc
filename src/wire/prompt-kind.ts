import { z } from "zod";

/** How a prompt reaches the agent: as text, or as one of its commands. */
export const promptKindSchema = z.enum(["text", "command"]);

/** `kind` of `coding_ask`. */
export const askKindSchema = promptKindSchema.describe(
  "`command`: the prompt is one of the agent's commands that are safe to send, such as `/compact` (completions list them with `kind: command`), typed into its composer; any other is refused with `command_not_sendable`. Needs the scope `coding:drive`. If it starts no turn, `delivered` is null, and `waitMs` ends when it has been typed. `text` (default): a command is refused.",
);
