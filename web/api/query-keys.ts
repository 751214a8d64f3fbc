/** Names of what the cache holds. A session's own things begin with {@link queryKeys.session}. */
export const queryKeys = {
  me: ["me"],
  /** Everything that lists sessions. */
  sessionLists: ["sessions"],
  session: (sessionId: string) => ["session", sessionId],
  sessionDirs: ["session-dirs"],
  agents: ["agents"],
  /** Begins with the one above: what changes the one changes the other. */
  agentSetups: ["agents", "setup"],
  folders: ["folders"],
  tokens: ["tokens"],
  browserSessions: ["browser-sessions"],
  passkeys: ["passkeys"],
  apps: ["apps"],
  clients: ["clients"],
  accounts: ["accounts"],
  audit: ["audit"],
  /** Everything that is remembered. */
  memory: ["memory"],
  branches: (dir: string) => ["branches", dir],
  completion: (path: string) => ["completion", path],
} as const;
