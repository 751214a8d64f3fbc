import type { Kysely } from "kysely";
import { onTestFinished } from "vitest";
import type { Tables } from "../../src/storage/schema.ts";

/**
 * Begins a transaction, in which `write` is done, and leaves it open until it is ended or the test is over.
 * @returns ends it
 */
export async function beginTransaction(
  db: Kysely<Tables>,
  write: (within: Kysely<Tables>) => Promise<unknown>,
): Promise<() => Promise<void>> {
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const transaction = db.transaction().execute(async (tx) => {
    await write(tx);
    begun.resolve();
    await over.promise;
  });
  const end = (): Promise<void> => {
    over.resolve();
    return transaction;
  };
  onTestFinished(end);
  await Promise.race([begun.promise, transaction]);
  return end;
}
