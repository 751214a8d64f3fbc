import type { SessionRecord } from "../../src/sessions/session-store.ts";

/** The record of a session of Codex that was never launched here, but for what differs. */
export function sessionRecord(differs: Partial<SessionRecord> = {}): SessionRecord {
  return {
    sessionId: "s1",
    aliases: [],
    agent: "codex",
    dir: "/code/project",
    title: null,
    model: null,
    permissionMode: "ask",
    transcriptPath: null,
    launchId: null,
    terminalId: null,
    createdAt: 1,
    updatedAt: 1,
    closedAt: null,
    exitCode: null,
    signal: null,
    lastScreen: null,
    continuedBy: null,
    keepRunning: false,
    endedAfterIdleMs: null,
    ...differs,
  };
}
