import { isInitializeRequest } from "@modelcontextprotocol/server";
import { callerOf, type Principal } from "../accounts/index.ts";
import { PosternError } from "../core/errors.ts";
import { type ClientSession, type ClientSessionDeps, messagesOf, openClientSession } from "./client-session.ts";
import type { McpLimits } from "./ports.ts";

/** Keeps the sessions of clients of the 2025 specifications. */
export interface ClientSessions {
  handle(request: Request, body: unknown, principal: Principal): Promise<Response>;
  close(): Promise<void>;
}

interface Held {
  readonly owner: string;
  readonly session: ClientSession;
}

const sweepMs = 60_000;

export function createClientSessions(
  deps: ClientSessionDeps & Pick<McpLimits, "maxSessions" | "maxSessionsOfCaller" | "idleMs">,
): ClientSessions {
  const { clock } = deps;
  const sessions = new Map<string, Held>();
  let opening = 0;
  let stopSweeping: (() => void) | undefined;

  function sweepLater(): void {
    stopSweeping ??= clock.after(sweepMs, () => {
      stopSweeping = undefined;
      for (const { session } of sessions.values()) {
        if (session.openStreams === 0 && clock.now() - session.usedAt >= deps.idleMs) void session.close();
      }
      if (sessions.size > 0) sweepLater();
    });
  }

  /** The one of these that was left longest; none while each holds a stream open. */
  function leftLongest(held: readonly Held[]): ClientSession | undefined {
    const idle = held.map(({ session }) => session).filter(({ openStreams }) => openStreams === 0);
    return idle.toSorted((a, b) => a.usedAt - b.usedAt)[0];
  }

  /** A client that never says goodbye starts anew each time: its oldest session makes room. */
  async function makeRoom(owner: string): Promise<void> {
    const mine = [...sessions.values()].filter((held) => held.owner === owner);
    const full = mine.length >= deps.maxSessionsOfCaller ? mine : null;
    const fullForAll = sessions.size + opening >= deps.maxSessions ? [...sessions.values()] : null;
    const crowd = full ?? fullForAll;
    if (crowd === null) return;
    const leaving = leftLongest(crowd);
    if (leaving === undefined) {
      throw new PosternError(
        "rate_limited",
        `${crowd.length} MCP sessions are open, the most allowed. End one (DELETE).`,
      );
    }
    await leaving.close();
  }

  async function open(request: Request, body: unknown, principal: Principal): Promise<Response> {
    const owner = callerOf(principal);
    await makeRoom(owner);
    opening += 1;
    let opened: ClientSession | undefined;
    try {
      opened = await openClientSession(deps, () => {
        if (opened !== undefined) sessions.delete(opened.sessionId);
      });
      sessions.set(opened.sessionId, { owner, session: opened });
    } finally {
      opening -= 1;
    }
    sweepLater();
    const response = await opened.handle(request, body, principal);
    if (!response.ok) await opened.close(); // it did not come to be
    return response;
  }

  return {
    async handle(request, body, principal) {
      const sessionId = request.headers.get("mcp-session-id");
      if (sessionId === null) {
        const begins = request.method === "POST" && messagesOf(body).some((message) => isInitializeRequest(message));
        if (begins) return open(request, body, principal);
        return refusal(400, -32_000, "Send the header Mcp-Session-Id, as the answer to `initialize` gave it.");
      }
      const held = sessions.get(sessionId);
      if (held?.owner === callerOf(principal)) return held.session.handle(request, body, principal);
      return refusal(404, -32_001, "Session not found. Begin a new one with `initialize`.");
    },
    async close() {
      stopSweeping?.();
      await Promise.all([...sessions.values()].map(({ session }) => session.close()));
    },
  };
}

function refusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}
