import { z } from "zod";
import type { NewSession } from "./start-session.ts";

const choicesName = "postern.new-session";
/** The defaults until the user makes a choice. */
const lastDirName = "postern.last-dir";

const choicesSchema = z.object({
  dir: z.string(),
  agent: z.string(),
  /** The model last used with each agent. */
  models: z.record(z.string(), z.string()),
  permissionMode: z.enum(["ask", "edits"]),
  worktree: z.boolean(),
});

/** What the last session was started with, per browser. */
export type Choices = z.infer<typeof choicesSchema>;

export function lastChoices(): Choices {
  try {
    return choicesSchema.parse(JSON.parse(localStorage.getItem(choicesName) ?? ""));
  } catch {
    // None are stored, or they are from another version.
    const dir = localStorage.getItem(lastDirName) ?? "";
    return { dir, agent: "", models: {}, permissionMode: "ask", worktree: false };
  }
}

export function keepChoices({ dir, agent, model, permissionMode, worktree }: NewSession): void {
  const choices: Choices = {
    dir: dir.trim(),
    agent,
    models: { ...lastChoices().models, [agent]: model.trim() },
    // Full access applies to one session only, so it is not restored.
    permissionMode: permissionMode === "edits" ? "edits" : "ask",
    worktree,
  };
  localStorage.setItem(choicesName, JSON.stringify(choices));
}
