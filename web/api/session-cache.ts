import type { QueryClient } from "@tanstack/react-query";
import type { SessionSummary } from "../../src/wire/coding.ts";
import type { SessionEvent } from "../../src/wire/events.ts";
import { queryKeys } from "./query.ts";
import type { SessionPage } from "./sessions.ts";

type FromEvent = Pick<SessionSummary, "status" | "activity" | "closedAt" | "exitCode" | "signal" | "pid" | "owner">;

/** The session with what an event itself says of it; the rest is read again. */
export function afterEvent<Session extends FromEvent>(session: Session, event: SessionEvent): Session {
  switch (event.kind) {
    case "session.created":
      return { ...session, status: event.status, activity: event.activity };
    case "session.status":
      return ended(event.status) ? gone({ ...session, status: event.status }) : { ...session, status: event.status };
    case "session.activity":
      return { ...session, activity: event.activity };
    case "session.exited":
      return gone({ ...session, status: event.status, exitCode: event.exitCode, signal: event.signal });
    case "session.closed":
      return { ...session, closedAt: event.at };
    case "session.turn_ended":
    case "session.permission_asked":
      return session;
  }
}

function ended(status: SessionSummary["status"]): boolean {
  return status === "completed" || status === "failed";
}

function gone<Session extends FromEvent>(session: Session): Session {
  return { ...session, activity: null, pid: null, owner: null };
}

/** Shows at once, in every list, what an event says. */
export function patchLists(client: QueryClient, event: SessionEvent): void {
  const patch = (session: SessionSummary): SessionSummary =>
    session.sessionId === event.sessionId || session.sessionAliases.includes(event.sessionId)
      ? afterEvent(session, event)
      : session;
  client.setQueriesData<readonly SessionSummary[]>({ queryKey: [...queryKeys.sessionLists, "live"] }, (sessions) =>
    sessions?.map(patch),
  );
  for (const kind of ["list", "search"]) {
    client.setQueriesData<SessionPage>({ queryKey: [...queryKeys.sessionLists, kind] }, (page) => {
      // A page without the session stays the same object, so that it is not painted again.
      if (page?.listed.some(({ session }) => patch(session) !== session) !== true) return page;
      const listed = page.listed.map((row) => {
        const session = patch(row.session);
        return session === row.session ? row : { ...row, session };
      });
      return { ...page, listed };
    });
  }
}
