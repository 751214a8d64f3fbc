import type { Clock } from "../core/clock.ts";
import { type BridgeSession, pauses, type Session, sessionHeaders } from "./mcp-bridge-session.ts";
import type { McpReports } from "./mcp-exchange.ts";

/** What the server says by itself, for as long as the session is there. */
export async function listen(
  session: Session,
  {
    inSession,
    clock,
    write,
    signal,
  }: {
    readonly inSession: BridgeSession;
    readonly clock: Clock;
    readonly write: (text: string) => Promise<void>;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  let lastEventId: string | null = null;
  for (
    let pauseMs = pauses.firstMs;
    inSession.current === session && !signal.aborted;
    pauseMs = Math.min(pauseMs * 2, pauses.longestMs)
  ) {
    const resume = lastEventId === null ? {} : { "last-event-id": lastEventId };
    const reports: McpReports = {
      onMessage: (text) => {
        pauseMs = pauses.firstMs;
        return write(text);
      },
      onEventId: (eventId) => {
        lastEventId = eventId;
      },
    };
    try {
      const call = { method: "GET" as const, headers: { ...sessionHeaders(session), ...resume }, body: null, signal };
      const { status } = await inSession.exchange(call, reports);
      if (status === 404) {
        inSession.forget(session);
        return void (await inSession.have({ jsonrpc: "2.0" }, signal));
      }
      if (status === 400 && lastEventId !== null) {
        lastEventId = null; // it is no longer kept: what comes from now on is heard
        continue;
      }
      if (status >= 400 && status < 500 && status !== 409 && status !== 429) return;
    } catch {
      // Away: it is called again until it is back, and then it has forgotten the session.
    }
    await clock.sleep(pauseMs, signal).catch(() => undefined); // the loop sees the signal
  }
}
