import type { Kysely } from "kysely";
import { hasCode } from "../core/errors.ts";
import type { LocatedSession, SessionLocator } from "../sessions/index.ts";
import { defaultSize, recordingsOf, sessionError } from "../sessions/index.ts";
import type { Tables } from "../storage/schema.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { Caller } from "../wire/caller.ts";
import type { SpawnInput, SpawnOutput } from "../wire/coding.ts";
import type { EndedTerminal, EndedTerminals, FindTerminal, FoundTerminal } from "./terminal-views.ts";

interface SessionTerminalsDeps {
  readonly db: Kysely<Tables>;
  readonly locator: SessionLocator;
  readonly host: Pick<TerminalHostClient, "recording">;
  readonly spawn: (input: SpawnInput, caller: Caller, signal: AbortSignal) => Promise<SpawnOutput>;
}

// Used if the exit was not observed, or the program never ran under this gateway.
const unknownExitCode = -1;

/** The terminals of sessions: `find` live ones, `gone` for the others. */
export function createSessionTerminals(deps: SessionTerminalsDeps): {
  readonly find: FindTerminal;
  readonly gone: EndedTerminals;
} {
  const { db, locator, host, spawn } = deps;

  async function find(sessionId: string, caller: Caller): Promise<FoundTerminal | null> {
    try {
      const { live } = await locator.locate(sessionId, caller);
      if (live?.isRetiring) await live.ended();
      if (live === null || live.exit !== null) return null;
      return {
        terminalId: live.terminalId,
        watch({ permissionsInTerminal }) {
          if (live.isRetiring) return null;
          const left = live.onViewer();
          if (permissionsInTerminal) live.askInTerminal(true);
          return () => {
            if (permissionsInTerminal) live.askInTerminal(false);
            left();
          };
        },
      };
    } catch (error) {
      if (hasCode(error, "session_not_found")) return null; // another source may have it
      throw error;
    }
  }

  /** The last screen of a session's terminal, if it is kept. */
  async function leftOf(
    record: LocatedSession["record"],
    signal: AbortSignal,
  ): Promise<Pick<EndedTerminal, "terminalId" | "screen">> {
    const last = (await recordingsOf(db, record.sessionId)).at(-1);
    const terminalId = last?.terminalId ?? "";
    const recording = last === undefined ? null : await host.recording(last.terminalId);
    if (recording !== null) {
      const at = Math.min(last?.endedAt ?? recording.endsAt, recording.endsAt);
      return { terminalId, screen: await recording.screenAt(at, { signal }) };
    }
    const ansi = (record.lastScreen ?? "").replaceAll("\n", "\r\n");
    return { terminalId, screen: { ...defaultSize, ansi, offset: 0 } };
  }

  return {
    find,
    gone: {
      async resume(sessionId, caller, { size, signal }) {
        await spawn({ sessionId, ...size }, caller, signal);
        const found = await find(sessionId, caller);
        if (found !== null) return found;
        throw sessionError("agent_start_failed", `The agent of session ${sessionId} exited during startup.`);
      },

      async remains(sessionId, caller, leaving) {
        const session = await locator.locate(sessionId, caller);
        const holder = await locator.externalHolder(session);
        if (holder !== null) {
          throw sessionError(
            "session_busy",
            `Session ${sessionId} is running outside Postern, in process ${holder.pid}.`,
          );
        }
        const { exitCode, signal } = session.record;
        return { ...(await leftOf(session.record, leaving)), exitCode: exitCode ?? unknownExitCode, signal };
      },
    },
  };
}
