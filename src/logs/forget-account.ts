import { type Kysely, sql } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Erasure } from "../storage/erasure.ts";
import type { Tables } from "../storage/schema.ts";
import { removeAllLogs } from "./delete-logs.ts";
import { createLargeDeletions } from "./large-deletion.ts";
import type { LogsDatabase } from "./logs-database.ts";

/** Removes accounts with what is remembered for them. */
export interface AccountForgetting {
  /**
   * All of an account's memory, which is gone at one moment, and then the account itself, erased like any deletion. What a process leaves
   * undone the next gateway does when it starts, the account's removal too. When a reader holds on to the store's file for long, erasing is
   * done when it leaves, or at the next start.
   * @param removeAccount removes the account, within the last transaction
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
      const large = createLargeDeletions({
        ...deps,
        async atEnd(tx) {
          await removeAllLogs(tx, { accountId, at: deps.clock.now() }); // what was remembered meanwhile, and words
          await removeAccount(tx.db);
          await erasure.prepare(tx.db);
        },
      });
      await large.run({ accountId, plan: { action: "account_removed" }, parts: [sql`true`] });
      if ((await erasure.finish()) === "pending") {
        deps.log.warn({ accountId }, "a reader is in the way of erasing what was remembered for a removed account");
      }
    },
  };
}
