import type { ClosePreview } from "../../src/wire/changes.ts";
import type { CloseOutput, SessionSummary } from "../../src/wire/coding.ts";

/** The state of a sent prompt. */
export function deliveryWords(
  delivered: boolean | null,
  { queuedPrompts, isCommand = false }: { readonly queuedPrompts: number; readonly isCommand?: boolean },
): string {
  if (delivered === true) return "Delivered.";
  if (delivered === false) return "Not delivered. Your text is still here.";
  if (queuedPrompts === 1) return "Queued. Sent when the current turn ends.";
  if (queuedPrompts > 1) return `Queued: ${queuedPrompts} prompts, sent one at a time when the current turn ends.`;
  if (isCommand) return "Command sent. Its result is in the terminal.";
  return "Sent. The agent has not confirmed it yet.";
}

/** Why queued prompts wait while the composer has text. */
export function behindDraftWords(queuedPrompts: number): string {
  const [subject, verb] =
    queuedPrompts === 1 ? ["The queued message", "is"] : [`${queuedPrompts} queued messages`, "are"];
  return `${subject} ${verb} held back by unsent text in the terminal. Send or delete that text first.`;
}

const shownDraftLength = 80;

/** Asked before a prompt goes to a composer that already has text. */
export function draftQuestion(draft: string): string {
  const letters = Array.from(draft.trim().replace(/\s+/g, " "));
  const shown =
    letters.length > shownDraftLength ? `${letters.slice(0, shownDraftLength).join("").trimEnd()}…` : letters.join("");
  return `The terminal has unsent text: “${shown}”. Clear it, or send both?`;
}

export function previewWords(
  { worktree }: ClosePreview,
  { discard }: { readonly discard: boolean },
): readonly string[] {
  const words = ["Stops the agent and everything it started. You can continue the conversation later."];
  if (worktree === null) return words;
  const { path, branch, files, ignored, complete, keepsBecause } = worktree;
  if (keepsBecause !== null) return [...words, `Keeps the worktree ${path}: ${keepsBecause}`];
  words.push(`Removes the worktree ${path} and keeps its branch ${branch}.`);
  const atLeast = complete ? "" : "at least ";
  if (files > 0) {
    const what = `${atLeast}${counted(files, "file")} with uncommitted changes`;
    words.push(
      discard
        ? `Discards ${what}.`
        : `${capital(what)} ${files === 1 ? "is" : "are"} saved as a backup commit, which you can restore.`,
    );
  } else if (complete) words.push("Everything in it is committed.");
  if (ignored.count > 0) {
    words.push(
      `${capital(atLeast)}${counted(ignored.count, "ignored file")} (${sizeWords(ignored.bytes)}), such as builds and dependencies, will be deleted permanently.`,
    );
  }
  return words;
}

export function closedWords({ worktree }: Pick<CloseOutput, "worktree">): string | null {
  if (worktree === null) return null;
  if (!worktree.removed)
    return `The worktree ${worktree.path} was kept${worktree.reason === null || worktree.reason === undefined ? "." : `: ${worktree.reason}`}`;
  const branch = worktree.branchKept === null ? "" : ` Its branch ${worktree.branchKept} was kept.`;
  const rescue =
    worktree.rescue === null
      ? ""
      : ` ${capital(counted(worktree.rescue.files, "file"))} with uncommitted work ${worktree.rescue.files === 1 ? "was" : "were"} saved as a backup commit.`;
  return `The worktree was removed.${branch}${rescue}`;
}

export function endedWords({ status, closedAt, exitCode, signal }: SessionSummary): string {
  if (closedAt !== null) return "This session was closed.";
  if (signal !== null) return `The agent was stopped by ${signal}.`;
  if (status === "failed")
    return exitCode === null ? "The agent could not start." : `The agent could not start (exit code ${exitCode}).`;
  return exitCode === null || exitCode === 0 ? "The agent has exited." : `The agent exited with code ${exitCode}.`;
}

export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Bytes with a unit. */
export function sizeWords(bytes: number): string {
  if (bytes < 1_000) return counted(bytes, "byte");
  const units = ["kB", "MB", "GB", "TB"] as const;
  let value = bytes / 1_000;
  let unit = 0;
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1_000;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Tokens, abbreviated. */
export function tokenWords(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  return tokens < 999_500
    ? `${(tokens / 1_000).toFixed(tokens < 9_950 ? 1 : 0)}k`
    : `${(tokens / 1_000_000).toFixed(1)}M`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
