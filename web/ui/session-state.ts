import type { Activity, SessionSummary } from "../../src/wire/coding.ts";

/** What a lamp shows: lit while the agent works, amber while it waits for a person, hollow when it is at rest or gone. */
export type LampTone = "working" | "needs-you" | "idle" | "ended" | "failed" | "limited";

/** A session's state in short, and how its lamp looks. */
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

type Known = Pick<SessionSummary, "status" | "activity" | "owner" | "closedAt" | "turnFailure">;

export function sessionState({ status, activity, owner, closedAt, turnFailure }: Known): SessionState {
  if (status === "failed") return { tone: "failed", words: "Failed" };
  if (status === "completed") return { tone: "ended", words: closedAt === null ? "Ended" : "Closed" };
  if (owner === "external") return { tone: "idle", words: "Running outside Postern" };
  if (activity === "idle" && turnFailure !== null) return { tone: "failed", words: "Last turn failed" };
  if (activity !== null) return byActivity[activity];
  return status === "initializing" ? byActivity.starting : { tone: "idle", words: "Running" };
}

/** Whether the agent has a process now. */
export function isLive({ status }: Pick<SessionSummary, "status">): boolean {
  return status === "initializing" || status === "running";
}

/** Whether it continues only when a person acts. */
export function needsYou(session: Known): boolean {
  return isLive(session) && sessionState(session).tone === "needs-you";
}

/** What to call a session that has no title yet. */
export function sessionTitle({ title }: Pick<SessionSummary, "title">): string {
  return title === null || title.trim() === "" ? "Untitled session" : title;
}

const agentNames: Readonly<Record<string, string>> = {
  "claude-code": "Claude Code",
  codex: "Codex",
  "gemini-cli": "Gemini CLI",
  opencode: "OpenCode",
};

/** An agent's name as its makers write it. */
export function agentName(agent: string): string {
  return agentNames[agent] ?? agent;
}

/** The directory of a session's project: of one in a worktree, that of the repository that it belongs to. */
export function projectOf({ dir, worktree }: Pick<SessionSummary, "dir" | "worktree">): string {
  return worktree?.repository ?? dir;
}

/** A path with its end kept: `~` is not known here, so the last two parts say where it is. */
export function shortPath(path: string): string {
  const parts = path.split("/").filter((part) => part !== "");
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}
