import { hasCode } from "../core/errors.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { SpawnInput, SpawnOutput } from "../wire/coding.ts";
import { codingError } from "./errors.ts";
import type { SessionLocator } from "./locate.ts";
import type { Caller } from "./ports.ts";
import type { FindTerminal, FoundTerminal, GoneTerminals } from "./terminals/terminal-views.ts";

/** What the terminals of sessions are found with. */
export interface SessionTerminalsDeps {
  readonly locator: SessionLocator;
  readonly host: TerminalHostClient;
  readonly spawn: (input: SpawnInput, caller: Caller, signal: AbortSignal) => Promise<SpawnOutput>;
}

// Nobody saw how the program ended, or it never ran under this gateway.
const unknownExitCode = -1;

/**
 * The terminals of sessions: `find` where the agent lives, `gone` where it does not.
 * @see the seed, "WebSocket"
 */
export function createSessionTerminals(deps: SessionTerminalsDeps): {
  readonly find: FindTerminal;
  readonly gone: GoneTerminals;
} {
  const { locator, host, spawn } = deps;

  async function find(sessionId: string, caller: Caller): Promise<FoundTerminal | null> {
    try {
      const { live } = await locator.locate(sessionId, caller);
      if (live === null || live.exit !== null) return null;
      return {
        terminalId: live.terminalId,
        mayDrive: true,
        watch({ permissionsInTerminal }) {
          if (!permissionsInTerminal) return () => undefined;
          live.askInTerminal(true);
          return () => live.askInTerminal(false);
        },
      };
    } catch (error) {
      if (hasCode(error, "session_not_found")) return null; // another source may know it
      throw error;
    }
  }

  return {
    find,
    gone: {
      async resume(sessionId, caller, { size, signal }) {
        await spawn({ sessionId, ...size }, caller, signal);
        const found = await find(sessionId, caller);
        if (found !== null) return found;
        throw codingError("agent_start_failed", `The agent of session ${sessionId} ended at its start.`);
      },

      async remains(sessionId, caller) {
        const session = await locator.locate(sessionId, caller);
        const holder = await locator.externalHolder(session);
        if (holder !== null) {
          throw codingError("session_busy", `Session ${sessionId} runs elsewhere, in process ${holder.pid}.`);
        }
        const { terminalId, lastScreen, exitCode, signal } = session.record;
        const seen = terminalId === null ? null : await host.snapshot(terminalId).catch(() => null); // gone with its host
        const screen = seen?.ansi ?? (lastScreen ?? "").replaceAll("\n", "\r\n");
        return { screen, exitCode: exitCode ?? unknownExitCode, signal };
      },
    },
  };
}
