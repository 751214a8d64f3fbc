import { type Kysely, sql } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";
import { type Erasure, openErasure } from "./erasure.ts";
import { type LogsDatabase, writeFor } from "./logs-database.ts";

/** Removes accounts with what is remembered for them. */
export interface AccountForgetting {
  /**
   * All of an account's memory and then the account itself, in one transaction, erased like any deletion. When a reader holds on to the
   * store's file for long, erasing is done when it leaves, or at the next start.
   * @param removeAccount removes the account, within the transaction
   */
  forget(accountId: string, removeAccount: (within: Kysely<Tables>) => Promise<void>): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** For the gateway, and for commands that work without one. */
export function createAccountForgetting(
  deps: LogsDatabase & { readonly clock: Clock; readonly log: Log },
): AccountForgetting {
  let erasure: Promise<Erasure> | null = null;
  return {
    async forget(accountId, removeAccount) {
      erasure ??= openErasure(deps);
      const opened = await erasure; // before anything is deleted: what goes is overwritten
      await writeFor(deps, accountId, async (tx) => {
        await removeMemory(tx, accountId);
        await removeAccount(tx.db);
      });
      if ((await opened.finish()) === "pending") {
        deps.log.warn({ accountId }, "a reader is in the way of erasing what was remembered for a removed account");
      }
    },
    async close() {
      await (await erasure)?.close();
    },
  };
}

/** All of an account's memory, in the order of the references, inside of a transaction. */
export async function removeMemory({ db }: Pick<LogsDatabase, "db">, accountId: string): Promise<void> {
  const words = sql`select word_id from log_words where account_id = ${accountId}`;
  await sql`delete from log_postings where word_id in (${words})`.execute(db);
  for (const table of ["log_words", "log_chunks", "facts", "statements", "entities"] as const) {
    await sql`delete from ${sql.table(table)} where account_id = ${accountId}`.execute(db);
  }
  for (const table of ["episodes", "log_turns", "log_suppressions", "log_entries"] as const) {
    await sql`delete from ${sql.table(table)} where account_id = ${accountId}`.execute(db);
  }
}
