/**
 * Never runs `task` twice at once. Calls during a run share one more run after it. Each call resolves when all runs are done, and rejects
 * if one of them fails.
 */
export function oneAtATime(task: () => Promise<void>): () => Promise<void> {
  let wanted = false;
  let running: Promise<void> | null = null;
  async function runWanted(): Promise<void> {
    try {
      while (wanted) {
        wanted = false;
        await task();
      }
    } finally {
      running = null; // synchronously after the last check, so that no later call joins this run
    }
  }
  return () => {
    wanted = true;
    running ??= Promise.resolve().then(runWanted);
    return running;
  };
}
