import type { SessionEvent } from "../../src/wire/events.ts";
import { agentName } from "../ui/session-state.ts";

/** What to notify of an event while the page is not looked at; null is nothing. */
export function noteworthy(event: SessionEvent): string | null {
  const agent = agentName(event.agent);
  switch (event.kind) {
    case "session.activity":
      if (event.activity === "needs_permission") return `${agent} asks for permission`;
      if (event.activity === "needs_answer") return `${agent} has a question`;
      if (event.activity === "needs_attention") return `${agent} needs your attention`;
      if (event.activity === "needs_login") return `${agent} needs a log-in`;
      return null;
    case "session.turn_ended":
      return `${agent} has finished`;
    case "session.exited":
      return event.status === "failed" ? `${agent} has failed` : null;
    case "session.created":
    case "session.status":
    case "session.permission_asked":
    case "session.closed":
      return null;
  }
}
