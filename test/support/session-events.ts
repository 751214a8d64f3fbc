import type { NewSessionEvent } from "../../src/wire/events.ts";

/** An event of a session that is of no further interest. */
export function turnEnded(differs: { readonly sessionId?: string; readonly dir?: string } = {}): NewSessionEvent {
  return {
    kind: "session.turn_ended",
    at: "2025-01-01T00:00:00.000Z",
    sessionId: "s1",
    agent: "claude-code",
    dir: "/srv/code",
    ...differs,
  };
}
