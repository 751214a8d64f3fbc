import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Erasure } from "../storage/erasure.ts";
import type { Tables } from "../storage/schema.ts";
import { removeAllLogs } from "./delete-logs.ts";
import { type LogsDatabase, writeFor } from "./logs-database.ts";

/** Removes accounts with what is remembered for them. */
export interface AccountForgetting {
  /**
   * All of an account's memory and then the account itself, in one transaction, erased like any deletion. When a reader holds on to the
   * store's file for long, erasing is done when it leaves, or at the next start.
   * @param removeAccount removes the account, within the transaction
   */
  forget(accountId: string, removeAccount: (within: Kysely<Tables>) => Promise<void>): Promise<void>;
}

/** For the gateway, and for commands that work without one. */
export function createAccountForgetting(
  deps: LogsDatabase & { readonly clock: Clock; readonly log: Log; readonly erasure: Erasure },
): AccountForgetting {
  const { erasure } = deps;
  return {
    async forget(accountId, removeAccount) {
      await erasure.start();
      await writeFor(deps, accountId, async (tx) => {
        await removeAllLogs(tx, { accountId, at: deps.clock.now() });
        await removeAccount(tx.db);
        await erasure.prepare(tx.db);
      });
      if ((await erasure.finish()) === "pending") {
        deps.log.warn({ accountId }, "a reader is in the way of erasing what was remembered for a removed account");
      }
    },
  };
}
