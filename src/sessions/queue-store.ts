import type { ExpressionBuilder, Kysely, Selectable } from "kysely";
import type { Tables } from "../storage/schema.ts";
import { sessionError } from "./errors.ts";

/** A prompt that waits, as the store has it. */
export interface WaitingPrompt {
  readonly promptId: string;
  readonly text: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** The key of the caller who queued it; null if unknown. */
  readonly askedBy: string | null;
}

/**
 * Changes a session's queued prompts. Each change checks its condition in the same statement or transaction, so that a prompt is
 * either changed or delivered unchanged: delivery marks it as sent only if it still has the text that is sent.
 */
export interface QueueStore {
  /** In the order they will be sent. The session's id may be an earlier one. */
  waiting(sessionId: string): Promise<readonly WaitingPrompt[]>;
  /**
   * A waiting prompt. @throws PosternError `prompt_not_found` if this session never had it | `prompt_already_sent` if it no longer waits
   */
  find(sessionId: string, promptId: string): Promise<WaitingPrompt>;
  /** @throws PosternError `prompt_already_sent` */
  edit(promptId: string, text: string): Promise<void>;
  /**
   * Moves a prompt to this position in its session's queue, or to the end if it is beyond the end.
   * @returns the waiting prompts in their new order
   * @throws PosternError `prompt_already_sent`
   */
  move(promptId: string, place: number): Promise<readonly string[]>;
  /** @throws PosternError `prompt_already_sent` */
  cancel(promptId: string): Promise<void>;
}

/** A {@link QueueStore} over the table `queued_prompts`. */
export function createQueueStore(db: Kysely<Tables>): QueueStore {
  return {
    async waiting(sessionId) {
      const rows = await db
        .selectFrom("queued_prompts")
        .select(["prompt_id", "prompt", "created_at", "asked_by"])
        .where((eb) => ofSession(eb, sessionId))
        .where("state", "=", "queued")
        .orderBy("position")
        .execute();
      return rows.map(waitingPrompt);
    },

    async find(sessionId, promptId) {
      const row = await db
        .selectFrom("queued_prompts")
        .select(["prompt_id", "prompt", "state", "created_at", "asked_by"])
        .where("prompt_id", "=", promptId)
        .where((eb) => ofSession(eb, sessionId))
        .executeTakeFirst();
      if (row === undefined) {
        throw sessionError("prompt_not_found", `Session ${sessionId} has no prompt ${promptId} in its queue.`);
      }
      if (row.state !== "queued") throw alreadySent(promptId);
      return waitingPrompt(row);
    },

    async edit(promptId, text) {
      const { numUpdatedRows } = await db
        .updateTable("queued_prompts")
        .set({ prompt: text, starts_turn: 0 })
        .where("prompt_id", "=", promptId)
        .where("state", "=", "queued")
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) throw alreadySent(promptId);
    },

    async move(promptId, place) {
      return db.transaction().execute(async (trx) => {
        // Changes nothing, but locks the session: moves at once would lock its prompts in different orders.
        await trx
          .updateTable("sessions")
          .set((eb) => ({ node_id: eb.ref("node_id") }))
          .where("session_id", "=", (eb) =>
            eb.selectFrom("queued_prompts").select("queued_prompts.session_id").where("prompt_id", "=", promptId),
          )
          .execute();
        // Positions are unique in a session, so all prompts first get temporary positions.
        const rows = await trx
          .updateTable("queued_prompts")
          .set((eb) => ({ position: eb.neg("position") }))
          .where("state", "=", "queued")
          .where("session_id", "=", (eb) =>
            eb.selectFrom("queued_prompts as moved").select("moved.session_id").where("moved.prompt_id", "=", promptId),
          )
          .returning(["prompt_id", "position"])
          .execute();
        const inOrder = rows.toSorted((left, right) => right.position - left.position);
        const ids = inOrder.map((row) => row.prompt_id);
        if (!ids.includes(promptId)) throw alreadySent(promptId);
        const others = ids.filter((id) => id !== promptId);
        const moved = [...others.slice(0, place), promptId, ...others.slice(place)];
        for (const [at, id] of moved.entries()) {
          const position = -(inOrder[at]?.position ?? 0);
          await trx.updateTable("queued_prompts").set({ position }).where("prompt_id", "=", id).execute();
        }
        return moved;
      });
    },

    async cancel(promptId) {
      const { numUpdatedRows } = await db
        .updateTable("queued_prompts")
        .set({ state: "lost", prompt: "" })
        .where("prompt_id", "=", promptId)
        .where("state", "=", "queued")
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) throw alreadySent(promptId);
    },
  };
}

/** An agent can report its own id at any time; the previous id becomes an alias. */
function ofSession(eb: ExpressionBuilder<Tables, "queued_prompts">, sessionId: string) {
  const aliased = eb.selectFrom("session_aliases").select("session_aliases.session_id").where("alias", "=", sessionId);
  return eb.or([eb("session_id", "=", sessionId), eb("session_id", "in", aliased)]);
}

function waitingPrompt(
  row: Pick<Selectable<Tables["queued_prompts"]>, "prompt_id" | "prompt" | "created_at" | "asked_by">,
): WaitingPrompt {
  return { promptId: row.prompt_id, text: row.prompt, createdAt: row.created_at, askedBy: row.asked_by };
}

function alreadySent(promptId: string) {
  return sessionError(
    "prompt_already_sent",
    `Prompt ${promptId} is no longer in the queue: it was sent to the agent, or given up. List the queue again.`,
  );
}
