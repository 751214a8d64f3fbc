/**
 * Never runs `task` twice at once. Calls during a run share one more run after it, even if the run fails. Each call resolves when all
 * runs are done, and rejects with the first error.
 */
export function oneAtATime(task: () => Promise<void>): () => Promise<void> {
  let wanted = false;
  let running: Promise<void> | null = null;
  async function runWanted(): Promise<void> {
    let failure: { readonly error: unknown } | null = null;
    while (wanted) {
      wanted = false;
      try {
        await task();
      } catch (error) {
        failure ??= { error };
      }
    }
    running = null; // synchronously after the last check, so that no later call joins this run
    if (failure !== null) throw failure.error;
  }
  return () => {
    wanted = true;
    running ??= Promise.resolve().then(runWanted);
    return running;
  };
}
