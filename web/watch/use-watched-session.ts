import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { PosternClientError } from "../../src/client/index.ts";
import { readOutputSchema, type SessionSummary } from "../../src/wire/coding.ts";
import type { SessionEvent } from "../../src/wire/events.ts";
import { reading } from "../api/client.ts";
import { useSessionEvents } from "../api/live-events.ts";
import { queryKeys, useRead } from "../api/query.ts";
import { useLiveSessions } from "../api/sessions.ts";

/** A session from the list of running sessions that all cells share; other sessions are read individually. Events keep it current, without polling. */
export function useWatchedSession(sessionId: string): {
  readonly summary: SessionSummary | undefined;
  /** The gateway does not know the session, or does not show it to this account. */
  readonly missing: boolean;
} {
  const client = useQueryClient();
  const live = useLiveSessions();
  const running = live.data?.find(
    (session) => session.sessionId === sessionId || session.sessionAliases.includes(sessionId),
  );
  const key = [...queryKeys.session(sessionId), "summary"];
  const read = useRead(
    key,
    async ({ signal }): Promise<SessionSummary> => {
      const answer = await reading.codingReadSession({ sessionId, last: 1 }, { signal, output: readOutputSchema });
      const { turns: _turns, nextAfter: _next, skippedLines: _skipped, ...summary } = answer;
      return summary;
    },
    { enabled: live.isSuccess && running === undefined },
  );
  const known = read.data;
  const listen = useCallback(
    (event: SessionEvent) => {
      // The agent may have changed its id.
      if (known?.sessionAliases.includes(event.sessionId) === true || known?.sessionId === event.sessionId)
        void client.invalidateQueries({ queryKey: queryKeys.session(sessionId) });
    },
    [client, sessionId, known],
  );
  useSessionEvents(listen);
  const missing = running === undefined && read.error instanceof PosternClientError && read.error.status === 404;
  return { summary: running ?? (missing ? undefined : known), missing };
}
