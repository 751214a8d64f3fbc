import type { Activity, SessionSummary } from "../../src/wire/coding.ts";
import type { SessionEvent } from "../../src/wire/events.ts";
import { idleEndWords } from "../../src/wire/idle-words.ts";

/** The look of a lamp: lit while working, amber while it needs the user, hollow at rest. */
export type LampTone = "working" | "needs-you" | "idle" | "ended" | "failed" | "limited";

export interface SessionState {
  readonly tone: LampTone;
  readonly words: string;
}

const byActivity: Readonly<Record<Activity, SessionState>> = {
  starting: { tone: "working", words: "Starting" },
  working: { tone: "working", words: "Working" },
  idle: { tone: "idle", words: "Ready" },
  needs_permission: { tone: "needs-you", words: "Needs permission" },
  needs_answer: { tone: "needs-you", words: "Has a question" },
  needs_attention: { tone: "needs-you", words: "Needs attention" },
  needs_login: { tone: "needs-you", words: "Login required" },
  limited: { tone: "limited", words: "Rate limited" },
};

type Known = Pick<SessionSummary, "status" | "activity" | "owner" | "closedAt" | "turnFailure" | "endedAfterIdleMs">;

export function sessionState(session: Known): SessionState {
  const { status, activity, owner, closedAt, turnFailure, endedAfterIdleMs } = session;
  if (status === "failed") return { tone: "failed", words: "Failed" };
  if (status === "completed" && closedAt === null && endedAfterIdleMs !== null) {
    return { tone: "ended", words: capitalized(idleEndWords(endedAfterIdleMs)) };
  }
  if (status === "completed") return { tone: "ended", words: closedAt === null ? "Ended" : "Closed" };
  if (owner === "external") return { tone: "idle", words: "Running outside Postern" };
  if (activity === "idle" && turnFailure !== null) return { tone: "failed", words: "Last turn failed" };
  if (activity !== null) return byActivity[activity];
  return status === "initializing" ? byActivity.starting : { tone: "idle", words: "Running" };
}

function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Whether the agent has a process. */
export function isLive({ status }: Pick<SessionSummary, "status">): boolean {
  return status === "initializing" || status === "running";
}

/** Whether it is waiting for the user. */
export function needsYou(session: Known): boolean {
  return isLive(session) && sessionState(session).tone === "needs-you";
}

/** The title, or a placeholder for a session without one. */
export function sessionTitle({ title }: Pick<SessionSummary, "title">): string {
  return title === null || title.trim() === "" ? "Untitled session" : title;
}

const agentNames: Readonly<Record<string, string>> = {
  "claude-code": "Claude Code",
  codex: "Codex",
  "gemini-cli": "Gemini CLI",
  opencode: "OpenCode",
};

export function agentName(agent: string): string {
  return agentNames[agent] ?? agent;
}

/** The project's directory; for a worktree, the directory of its repository. */
export function projectOf({ dir, worktree }: Pick<SessionSummary, "dir" | "worktree">): string {
  return worktree?.repository ?? dir;
}

/** The last two parts of a path. */
export function shortPath(path: string): string {
  const parts = path.split("/").filter((part) => part !== "");
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}

/** The notification for an event; null for none. */
export function noteworthy(event: SessionEvent): string | null {
  const agent = agentName(event.agent);
  switch (event.kind) {
    case "session.activity":
      if (event.activity === "needs_permission") return `${agent} asks for permission`;
      if (event.activity === "needs_answer") return `${agent} has a question`;
      if (event.activity === "needs_attention") return `${agent} needs your attention`;
      if (event.activity === "needs_login") return `${agent} needs you to log in`;
      return null;
    case "session.turn_ended":
      return `${agent} has finished`;
    case "session.exited":
      return event.status === "failed" ? `${agent} has failed` : null;
    case "session.created":
    case "session.status":
    case "session.permission_asked":
    case "session.queue_changed":
    case "session.closed":
    case "session.edited":
      return null;
  }
}
