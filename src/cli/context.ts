import type { CliContext, CliStores } from "./ports.ts";

/** Opens the store for one task and closes it, whatever became of the task. */
export async function withStores<T>(context: CliContext, task: (stores: CliStores) => Promise<T>): Promise<T> {
  const stores = await context.ports.openStores();
  try {
    return await task(stores);
  } finally {
    await stores.close();
  }
}
