import type { SessionRecord } from "./session-store.ts";

/** What a transcript tells of its session. */
type ToldOnDisk = Pick<SessionRecord, "sessionId" | "agent" | "dir" | "transcriptPath" | "createdAt" | "updatedAt">;

/** The record of a session that no gateway of this store ever ran: what its transcript tells, and nothing else. */
export function recordOnDisk(told: ToldOnDisk): SessionRecord {
  return {
    ...told,
    aliases: [],
    title: null,
    model: null,
    permissionMode: "ask",
    launchId: null,
    terminalId: null,
    closedAt: null,
    exitCode: null,
    signal: null,
    lastScreen: null,
    continuedBy: null,
  };
}
