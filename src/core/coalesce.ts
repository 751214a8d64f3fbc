/**
 * Runs `task` one at a time: any number of calls during a run cause one more run. Calls resolve when no run is left, and reject if the
 * run they waited for fails.
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
