import type { Kysely } from "kysely";
import type { AttachedFile } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";
import type { Started } from "../wire/coding.ts";

/**
 * The stored state of a prompt: `queued` until the agent can accept it, `sent` from just before it is put on the agent's
 * command line or typed, then `delivered` once it is in the agent's transcript, `lost` if the agent certainly did not and will not accept
 * it, and otherwise `unknown`. A prompt is never sent twice.
 */
export type PromptState = "queued" | "sent" | "delivered" | "lost" | "unknown";

/** A prompt whose outcome is still open. */
export interface OpenPrompt {
  readonly promptId: string;
  readonly prompt: string;
  readonly state: "queued" | "sent";
  readonly sentAt: number | null;
  /** Missing if there are none. */
  readonly files?: readonly AttachedFile[];
  /** For one of the agent's commands: whether it starts a turn, and so is confirmed in the same way as text. */
  readonly startsTurn?: boolean | undefined;
}

/** A caller's key for a request, so that repeating it has no second effect. */
export interface IdempotencyClaim {
  readonly accountId: string;
  readonly key: string;
  /** Hash of everything in the request except the key. */
  readonly requestHash: string;
}

/** The result of a request when it was first made. */
export interface RememberedRequest {
  readonly requestHash: string;
  readonly sessionId: string;
  readonly promptId: string;
  readonly started: Started;
}

/** A prompt to put into a queue. */
export interface QueueEntry {
  readonly promptId: string;
  readonly sessionId: string;
  readonly prompt: string;
  readonly state: "queued" | "sent";
  readonly started: Started;
  readonly idempotency: IdempotencyClaim | null;
  /** Assigns the prompt's attachments to its session, in the same transaction. Missing if there are none. */
  readonly claimFiles?: ((sessionId: string, transaction: Kysely<Tables>) => Promise<void>) | undefined;
  /** Whether it comes from a caller without `coding:drive`: from then on, only rules with `undriven` answer in its session. */
  readonly undriven: boolean;
  /** The caller's key; missing if there is none. */
  readonly askedBy?: string;
  /** For one of the agent's commands: whether it starts a turn. */
  readonly startsTurn?: boolean | undefined;
}

/** What a queue needs from attachments. */
export interface PromptFiles {
  /** The files of these prompts, each prompt's in their order. */
  ofPrompts(promptIds: readonly string[]): Promise<ReadonlyMap<string, readonly AttachedFile[]>>;
  /** Releases the attachments of a prompt that the agent never receives. */
  release(promptId: string): Promise<void>;
}

/** Prompts on their way to agents, in the store, so that a restart loses none. */
export interface PromptQueue {
  /** Adds a prompt to the end of its session's queue and stores its idempotency key, in one transaction (the given one, if any). */
  add(entry: QueueEntry, transaction?: Kysely<Tables>): Promise<void>;
  /** Records that a session receives a prompt from a caller without `coding:drive`. */
  markUndriven(sessionId: string): Promise<void>;
  /** Prompts whose outcome is still open, oldest first. */
  open(sessionId: string): Promise<readonly OpenPrompt[]>;
  /** The number of waiting prompts of each of these sessions; sessions without any are left out. */
  waitingIn(sessionIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /**
   * Advances a prompt to this state; only an open prompt keeps its text. A queued prompt can be sent, an open one can end, and an ended one can
   * only turn out to be delivered. @param text moves it only if it still has this text @returns whether it moved
   */
  mark(promptId: string, state: "sent" | "delivered" | "lost" | "unknown", text?: string): Promise<boolean>;
  /** Undoes marking a prompt as sent, because nothing of it reached a process. */
  putBack(promptId: string): Promise<void>;
  /** Gives up all open prompts of a session: queued ones become lost, sent ones unknown. */
  loseAll(sessionId: string): Promise<void>;
  /** Moves a session's waiting prompts to its successor, after those that already wait there. */
  moveAll(sessionId: string, toSessionId: string, transaction?: Kysely<Tables>): Promise<void>;
  /** The text of a queued prompt; null when it is not queued. */
  textOf(promptId: string): Promise<string | null>;
  stateOf(promptId: string): Promise<PromptState | null>;
  remembered(accountId: string, key: string): Promise<RememberedRequest | null>;
  /** Forgets a failed request, so that it can be repeated. */
  forgetRequest(accountId: string, key: string): Promise<void>;
  /** Deletes ended prompts and remembered requests that are too old to be asked for. */
  prune(): Promise<void>;
}

// A client that repeats a request does it within minutes; a day is generous and bounds the table.
const rememberForMs = 24 * 3_600_000;
// Prune after this many prompts too, because a gateway may run for months.
const pruneEvery = 200;

const cameBefore = {
  sent: ["queued"],
  lost: ["queued", "sent"],
  unknown: ["queued", "sent"],
  delivered: ["queued", "sent", "lost", "unknown"],
} as const satisfies Record<string, readonly PromptState[]>;

/** A queue over the tables `queued_prompts` and `idempotency_keys`. */
export function createPromptQueue(db: Kysely<Tables>, clock: Clock, files?: PromptFiles): PromptQueue {
  async function put(
    on: Kysely<Tables>,
    { promptId, sessionId, prompt, state, started, idempotency, claimFiles, undriven, askedBy, startsTurn }: QueueEntry,
  ): Promise<void> {
    const now = clock.now();
    if (undriven) await markUndriven(on, sessionId);
    await on
      .insertInto("queued_prompts")
      .values((eb) => ({
        prompt_id: promptId,
        session_id: sessionId,
        position: eb
          .selectFrom("queued_prompts")
          .select((inner) => inner(inner.fn.coalesce(inner.fn.max("position"), inner.lit(0)), "+", 1).as("next"))
          .where("session_id", "=", sessionId),
        prompt,
        state,
        created_at: now,
        sent_at: state === "sent" ? now : null,
        asked_by: askedBy ?? null,
        starts_turn: startsTurn ? 1 : 0,
      }))
      .execute();
    await claimFiles?.(sessionId, on);
    if (idempotency === null) return;
    await on
      .insertInto("idempotency_keys")
      .values({
        account_id: idempotency.accountId,
        idempotency_key: idempotency.key,
        request_hash: idempotency.requestHash,
        session_id: sessionId,
        prompt_id: promptId,
        started,
        created_at: now,
      })
      // A key older than the remembered period counts as new.
      .onConflict((conflict) =>
        conflict.columns(["account_id", "idempotency_key"]).doUpdateSet({
          request_hash: idempotency.requestHash,
          session_id: sessionId,
          prompt_id: promptId,
          started,
          created_at: now,
        }),
      )
      .execute();
  }

  async function markUndriven(on: Kysely<Tables>, sessionId: string): Promise<void> {
    await on
      .insertInto("undriven_sessions")
      .values({ session_id: sessionId })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  let added = 0;
  return {
    async add(entry, transaction) {
      added += 1;
      if (transaction === undefined && added % pruneEvery === 0) await this.prune();
      if (transaction === undefined) await db.transaction().execute((trx) => put(trx, entry));
      else await put(transaction, entry);
    },

    markUndriven: (sessionId) => markUndriven(db, sessionId),

    async waitingIn(sessionIds) {
      if (sessionIds.length === 0) return new Map();
      const rows = await db
        .selectFrom("queued_prompts")
        .select(({ fn }) => ["session_id", fn.countAll<number>().as("waiting")])
        .where("session_id", "in", [...sessionIds])
        .where("state", "=", "queued")
        .groupBy("session_id")
        .execute();
      return new Map(rows.map(({ session_id, waiting }) => [session_id, waiting]));
    },

    async open(sessionId) {
      const rows = await db
        .selectFrom("queued_prompts")
        .select(["prompt_id", "prompt", "state", "sent_at", "starts_turn"])
        .where("session_id", "=", sessionId)
        .where("state", "in", ["queued", "sent"])
        .orderBy("position")
        .execute();
      const attached = await files?.ofPrompts(rows.map((row) => row.prompt_id));
      return rows.map((row) => {
        const of = attached?.get(row.prompt_id);
        return {
          promptId: row.prompt_id,
          prompt: row.prompt,
          state: row.state === "sent" ? "sent" : "queued",
          sentAt: row.sent_at,
          ...(row.starts_turn === 1 ? { startsTurn: true } : {}),
          ...(of === undefined ? {} : { files: of }),
        };
      });
    },

    async prune() {
      const before = clock.now() - rememberForMs;
      await db.deleteFrom("idempotency_keys").where("created_at", "<", before).execute();
      await db
        .deleteFrom("queued_prompts")
        .where("created_at", "<", before)
        .where("state", "in", ["delivered", "lost", "unknown"])
        .execute();
    },

    async putBack(promptId) {
      await db
        .updateTable("queued_prompts")
        .set({ state: "queued", sent_at: null })
        .where("prompt_id", "=", promptId)
        .where("state", "=", "sent")
        .execute();
    },

    async forgetRequest(accountId, key) {
      await db
        .deleteFrom("idempotency_keys")
        .where("account_id", "=", accountId)
        .where("idempotency_key", "=", key)
        .execute();
    },

    async mark(promptId, state, text) {
      const change = state === "sent" ? { state, sent_at: clock.now() } : { state, prompt: "" };
      const { numUpdatedRows } = await db
        .updateTable("queued_prompts")
        .set(change)
        .where("prompt_id", "=", promptId)
        .where("state", "in", [...cameBefore[state]])
        .$if(text !== undefined, (query) => query.where("prompt", "=", text ?? ""))
        .executeTakeFirstOrThrow();
      if (state === "lost" && numUpdatedRows > 0n) await files?.release(promptId);
      return numUpdatedRows > 0n;
    },

    async loseAll(sessionId) {
      const queued = await db
        .selectFrom("queued_prompts")
        .select("prompt_id")
        .where("session_id", "=", sessionId)
        .where("state", "=", "queued")
        .execute();
      for (const [from, to] of [
        ["queued", "lost"],
        ["sent", "unknown"],
      ] as const) {
        await db
          .updateTable("queued_prompts")
          .set({ state: to, prompt: "" })
          .where("session_id", "=", sessionId)
          .where("state", "=", from)
          .execute();
      }
      for (const { prompt_id: promptId } of queued) await files?.release(promptId);
    },

    async moveAll(sessionId, toSessionId, transaction = db) {
      await transaction
        .updateTable("attachments")
        .set({ session_id: toSessionId })
        .where("session_id", "=", sessionId)
        .where((eb) =>
          eb(
            "attachment_id",
            "in",
            eb
              .selectFrom("prompt_attachments")
              .innerJoin("queued_prompts", "queued_prompts.prompt_id", "prompt_attachments.prompt_id")
              .select("prompt_attachments.attachment_id")
              .where("queued_prompts.session_id", "=", sessionId)
              .where("queued_prompts.state", "in", ["queued", "sent"]),
          ),
        )
        .execute();
      const { last } = await transaction
        .selectFrom("queued_prompts")
        .select((eb) => eb.fn.coalesce(eb.fn.max("position"), eb.lit(0)).as("last"))
        .where("session_id", "=", toSessionId)
        .executeTakeFirstOrThrow();
      await transaction
        .updateTable("queued_prompts")
        .set((eb) => ({ session_id: toSessionId, position: eb("position", "+", last) }))
        .where("session_id", "=", sessionId)
        .where("state", "in", ["queued", "sent"])
        .execute();
    },

    async textOf(promptId) {
      const row = await db
        .selectFrom("queued_prompts")
        .select("prompt")
        .where("prompt_id", "=", promptId)
        .where("state", "=", "queued")
        .executeTakeFirst();
      return row?.prompt ?? null;
    },

    async stateOf(promptId) {
      const row = await db
        .selectFrom("queued_prompts")
        .select("state")
        .where("prompt_id", "=", promptId)
        .executeTakeFirst();
      return row === undefined ? null : row.state;
    },

    async remembered(accountId, key) {
      const row = await db
        .selectFrom("idempotency_keys")
        .selectAll()
        .where("account_id", "=", accountId)
        .where("idempotency_key", "=", key)
        .executeTakeFirst();
      if (row === undefined || row.created_at < clock.now() - rememberForMs) return null;
      return {
        requestHash: row.request_hash,
        sessionId: row.session_id,
        promptId: row.prompt_id,
        started: row.started,
      };
    },
  };
}
