import type { ReadOutput, SessionSummary } from "../wire/coding.ts";
import type { MessageBody } from "./channel.ts";
import { plainLine, plainMessage, styled } from "./styled.ts";

/** Whether nothing happens in it: what its transcript holds is all that there will be for now. */
export function isAtRest({ activity }: Pick<SessionSummary, "activity">): boolean {
  return activity === null || activity === "idle" || activity === "limited" || activity === "needs_login";
}

/** How a turn stands, in a message that is updated. */
export function statusMessage(
  session: ReadOutput,
  { sinceMs, replyTo }: { readonly sinceMs: number; readonly replyTo: string | null },
): MessageBody {
  const text = `${activityWords(session)}${isAtRest(session) ? "" : toolWords(session)} · ${durationWords(sinceMs)}`;
  return plainMessage(styled(text), { replyTo, silent: true });
}

/** One line on how a session stands. */
export function activityWords(session: SessionSummary): string {
  const { activity, queuedPrompts, draft, agent, resetsAt, turnFailure } = session;
  if (draft) return `✋ ${agent} has a prompt waiting: its terminal has unsent text. Send or delete it there`;
  switch (activity) {
    case "starting":
      return `⏳ ${agent} starts`;
    case "working":
      return `⏳ ${agent} works${queuedPrompts > 0 ? `, ${queuedPrompts} waiting behind it` : ""}`;
    case "needs_permission":
    case "needs_answer":
      return `✋ ${agent} waits for your answer`;
    case "needs_attention":
      return `✋ ${agent} shows something in its terminal that needs you`;
    case "needs_login":
      return `🔑 ${agent} needs you to log in, in its terminal`;
    case "limited":
      return `⛔ ${agent} has reached its limit${resetsAt === null ? "" : ` until ${resetsAt}`}`;
    case "idle":
      return turnFailure === null ? `✓ ${agent} is done` : `⚠ ${agent} gave no answer: ${plainLine(turnFailure, 300)}`;
    case null:
      return endWords(session);
  }
}

function endWords({ agent, status, exitCode, signal, closedAt }: SessionSummary): string {
  if (closedAt !== null) return `■ ${agent} was closed`;
  const how = signal ?? (exitCode === null ? null : `exit code ${exitCode}`);
  return `■ ${agent} ${status === "failed" ? "failed" : "ended"}${how === null ? "" : ` (${how})`}`;
}

/** What it does at the moment, as far as the transcript shows. */
function toolWords({ turns }: ReadOutput): string {
  const last = turns.at(-1);
  if (last?.role !== "assistant") return "";
  const calls = last.blocks.filter((block) => block.type === "tool_call");
  const current = calls.at(-1);
  return current === undefined
    ? ""
    : ` · ${calls.length} tool ${calls.length === 1 ? "call" : "calls"}, now ${plainLine(current.name, 60)}`;
}

/** In steps that get larger: a message is not changed every second. */
function durationWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
