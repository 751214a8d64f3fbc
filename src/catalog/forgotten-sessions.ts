import type { Kysely } from "kysely";
import type { Tables } from "../storage/schema.ts";

/** A session of which the catalog keeps no word that was said until `at`. Can be sent to a process. */
export interface ForgottenSession {
  /** Primary name of the agent. */
  readonly agent: string;
  /** The agent's own id, as in the name of the transcript. */
  readonly sessionId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/**
 * What was forgotten, in the store: the catalog itself may be dropped at any time, and a transcript that is still there must not bring
 * the words back.
 */
export interface ForgottenSessions {
  /** Until when what was said in a session is forgotten; null when it is not. */
  at(sessionId: string): Promise<number | null>;
  all(): Promise<readonly (ForgottenSession & { readonly erased: boolean })[]>;
  /** Once more, at a later time, for one that went on. */
  put(session: ForgottenSession): Promise<void>;
  /** Nothing of these is in the catalog's files. One that was forgotten anew meanwhile is left as it is. */
  erased(sessions: readonly ForgottenSession[], at: number): Promise<void>;
}

/** SQL over `forgotten_sessions`. */
export function createForgottenSessions(db: Kysely<Tables>): ForgottenSessions {
  return {
    async at(sessionId) {
      const row = await db
        .selectFrom("forgotten_sessions")
        .select(({ fn }) => fn.max<number | null>("forgotten_at").as("at"))
        .where("session_id", "=", sessionId)
        .executeTakeFirst();
      return row?.at ?? null;
    },
    async all() {
      const rows = await db.selectFrom("forgotten_sessions").selectAll().execute();
      return rows.map((row) => ({
        agent: row.agent,
        sessionId: row.session_id,
        at: row.forgotten_at,
        erased: row.erased_at !== null,
      }));
    },
    async put({ agent, sessionId, at }) {
      const change = { forgotten_at: at, erased_at: null };
      await db
        .insertInto("forgotten_sessions")
        .values({ agent, session_id: sessionId, ...change })
        .onConflict((conflict) => conflict.columns(["agent", "session_id"]).doUpdateSet(change))
        .execute();
    },
    async erased(sessions, at) {
      for (const session of sessions) {
        await db
          .updateTable("forgotten_sessions")
          .set({ erased_at: at })
          .where("agent", "=", session.agent)
          .where("session_id", "=", session.sessionId)
          .where("forgotten_at", "=", session.at)
          .execute();
      }
    },
  };
}

/** A session's name among those of all agents. */
export function forgottenKey({ agent, sessionId }: Pick<ForgottenSession, "agent" | "sessionId">): string {
  return `${agent} ${sessionId}`;
}
