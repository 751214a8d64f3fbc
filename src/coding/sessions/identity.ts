import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";
import type { TerminalHostClient } from "../../terminal-host/terminal-info.ts";
import type { PromptQueue } from "./prompt-queue.ts";
import type { SessionRecord, SessionStore } from "./session-store.ts";

/** The name under which the terminal host keeps a session from being run twice. */
export function leaseKeyOf(session: { readonly agent: string; readonly sessionId: string }): string {
  return `${session.agent}:${session.sessionId}`;
}

/**
 * Gives a live terminal's session the id that its agent told: `rekey` replaces a provisional id, which stays as an alias;
 * `follow` ends the old session, continued by the new one, and terminal, lease and waiting prompts go over.
 *
 * @returns the record under the new id, or null when another session holds that id (nothing is changed then).
 */
export async function adoptId(
  deps: {
    readonly store: SessionStore;
    readonly queue: PromptQueue;
    readonly host: TerminalHostClient;
    readonly clock: Clock;
    readonly log: Log;
  },
  change: {
    readonly record: SessionRecord;
    readonly terminalId: string;
    readonly agentSessionId: string;
    readonly how: "rekey" | "follow";
  },
): Promise<SessionRecord | null> {
  const { store, queue, host, clock, log } = deps;
  const { record, terminalId, agentSessionId, how } = change;
  const holder = await store.find(agentSessionId);
  // In a terminal, a person may go back to an older session of the same agent; one that is alive or another agent's is never taken over.
  if (holder !== null && (how === "rekey" || holder.terminalId !== null || holder.agent !== record.agent)) return null;
  await host.renameLease(terminalId, leaseKeyOf({ agent: record.agent, sessionId: agentSessionId }));
  if (how === "rekey") {
    await store.rekey(record.sessionId, agentSessionId);
    log.info({ sessionId: agentSessionId, agent: record.agent }, "session took its agent's own id");
    return { ...record, sessionId: agentSessionId, aliases: [...record.aliases, record.sessionId] };
  }
  const now = clock.now();
  const successor: SessionRecord = {
    ...record,
    sessionId: agentSessionId,
    aliases: holder?.aliases ?? [],
    title: null,
    transcriptPath: null,
    createdAt: now,
    updatedAt: now,
    closedAt: null,
  };
  if (holder === null) await store.insert(successor);
  else await store.update(agentSessionId, { ...running(successor), closedAt: null, updatedAt: now });
  await queue.moveAll(record.sessionId, agentSessionId);
  await store.update(record.sessionId, { terminalId: null, pid: null, continuedBy: agentSessionId, updatedAt: now });
  log.info({ sessionId: record.sessionId, continuedBy: agentSessionId }, "session is continued by another");
  return successor;
}

function running({ launchId, terminalId, pid }: SessionRecord) {
  return { launchId, terminalId, pid };
}
